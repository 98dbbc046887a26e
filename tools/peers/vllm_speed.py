"""vLLM on the CPU for one job, run by the Python of its environment: `vllm_speed.py WORK`, WORK a JSON object (see
engines.PythonPeer). MODEL is a Hugging Face folder. Prints {"prefill_tps", "decode_tps": {streams: tps}}."""
import json
import os
import sys
import time

work = json.loads(sys.argv[1])
os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "2")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ["OMP_NUM_THREADS"] = str(work["threads"])

from vllm import LLM, SamplingParams  # noqa: E402  reads the environment

longest = max(work["prompt"], work["context"] + work["gen"]) + 32
llm = LLM(model=work["model"], dtype="bfloat16", max_model_len=longest, enable_prefix_caching=False, enforce_eager=True,
          max_num_seqs=max([16] + work["streams"]))


def seconds(streams, prompt, count):
    prompts = [{"prompt_token_ids": [(i * 7919 + s * 104729 + 17) % 32000 for i in range(prompt)]} for s in range(streams)]
    begin = time.perf_counter()
    llm.generate(prompts, SamplingParams(max_tokens=count, temperature=0, ignore_eos=True), use_tqdm=False)
    return time.perf_counter() - begin


prefill_tps, decode_tps = 0.0, {}
seconds(1, min(512, work["prompt"] or work["context"]), 2)  # warms up
if work["prompt"]:
    prefill_tps = work["prompt"] / seconds(1, work["prompt"], 1)
for streams in work["streams"]:
    first = seconds(streams, work["context"], 1)
    decode_tps[streams] = streams * work["gen"] / (seconds(streams, work["context"], work["gen"] + 1) - first)
    if work["long"]:
        prefill_tps = work["context"] / first
print(json.dumps({"prefill_tps": prefill_tps, "decode_tps": decode_tps}))
