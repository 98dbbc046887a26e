"""Turns an F16 GGUF file into OpenVINO models, run by the Python of that environment: `openvino_export.py FILE FOLDER`.
Writes FOLDER/f16, FOLDER/int8 (per channel) and FOLDER/int4 (symmetric, groups of 128; the embedding in int8), the
formats of optimum-cli's --weight-format, without torch."""
import pathlib
import shutil
import sys

import nncf
import openvino
import openvino_genai as genai

source, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
scheduler = genai.SchedulerConfig()
scheduler.num_kv_blocks = 64
genai.LLMPipeline(str(source), "CPU", scheduler_config=scheduler, enable_save_ov_model=True)
plain = folder / "f16"
plain.mkdir(exist_ok=True)
for file in source.parent.glob("openvino_*.*"):  # it saves beside the file
    file.rename(plain / file.name)
formats = {"int8": {"mode": nncf.CompressWeightsMode.INT8_ASYM},
           "int4": {"mode": nncf.CompressWeightsMode.INT4_SYM, "group_size": 128, "ratio": 1.0}}
for name, options in formats.items():
    target = folder / name
    target.mkdir(exist_ok=True)
    model = nncf.compress_weights(openvino.Core().read_model(plain / "openvino_model.xml"), **options)
    for file in plain.glob("openvino_*tokenizer*"):
        shutil.copy(file, target)
    openvino.save_model(model, target / "openvino_model.xml", compress_to_fp16=False)
