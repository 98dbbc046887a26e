"""OpenVINO GenAI for one job, run by the Python of its environment: `openvino_speed.py WORK`, WORK a JSON object (see
engines.PythonPeer). MODEL is an exported folder or a GGUF file. Prints {"prefill_tps", "decode_tps": {streams: tps}}."""
import json
import sys
import time

import numpy
import openvino
import openvino_genai as genai

work = json.loads(sys.argv[1])
scheduler = genai.SchedulerConfig()
scheduler.enable_prefix_caching = False
scheduler.max_num_batched_tokens = 512
tokens = max([work["prompt"] + 32] + [n * (work["context"] + work["gen"] + 32) for n in work["streams"]])
scheduler.num_kv_blocks = tokens // 16 + 64
scheduler.max_num_seqs = 256
pipe = genai.LLMPipeline(work["model"], "CPU", scheduler_config=scheduler, INFERENCE_NUM_THREADS=work["threads"])
config = genai.GenerationConfig()
config.ignore_eos, config.do_sample, config.apply_chat_template = True, False, False


def seconds(streams, prompt, count):
    ids = (numpy.arange(streams * prompt, dtype=numpy.int64) * 7919 + 17).reshape(streams, prompt) % 32000
    inputs = genai.TokenizedInputs(openvino.Tensor(ids), openvino.Tensor(numpy.ones_like(ids)))
    config.max_new_tokens = count
    begin = time.perf_counter()
    pipe.generate(inputs, config)
    return time.perf_counter() - begin


prefill_tps, decode_tps = 0.0, {}
seconds(1, min(512, work["prompt"] or work["context"]), 2)  # warms up; the first run compiles
if work["prompt"]:
    seconds(1, work["prompt"], 1)
    prefill_tps = work["prompt"] / seconds(1, work["prompt"], 1)
for streams in work["streams"]:
    if not work["long"]:
        seconds(streams, 8, 2)
    # Of the first token the prompt is the cost; the rest is decoding.
    first = seconds(streams, work["context"], 1)
    decode_tps[streams] = streams * work["gen"] / (seconds(streams, work["context"], work["gen"] + 1) - first)
    if work["long"]:
        prefill_tps = work["context"] / first
print(json.dumps({"prefill_tps": prefill_tps, "decode_tps": decode_tps}))
