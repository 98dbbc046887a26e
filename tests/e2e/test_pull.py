"""`firebrick pull` against a hub stand-in on loopback. Needs only the built binary."""
import os
import pathlib
import subprocess

import pytest
from hub_stand_in import COMMIT, Hub

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("FIREBRICK_BINARY", ROOT / "build" / "release" / "firebrick"))
WEIGHTS = bytes(range(256)) * 400  # 100 KiB
FILES = {"config.json": b'{"model_type": "llama"}', "tokenizer.json": b"{}", "model.safetensors": WEIGHTS,
         "README.md": b"# no", "original/consolidated.00.pth": b"no", "empty.json": b""}


@pytest.fixture(name="hub")
def running_hub():
    with Hub(dict(FILES)) as hub:
        yield hub


def pull(hub: Hub | None, home: pathlib.Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("HF_") and "proxy" not in key.lower()}
    settings = {"HF_HOME": str(home), "HF_ENDPOINT": hub.url if hub else "http://127.0.0.1:9"}
    return subprocess.run([BINARY, "pull", *arguments], capture_output=True, text=True, timeout=120, check=False,
                          env={**clean, **settings, **environment})


def folder(home: pathlib.Path) -> pathlib.Path:
    return home / "hub" / "models--org--model"


def test_the_layout_is_the_one_that_hub_clients_share(hub, tmp_path):
    done = pull(hub, tmp_path, "org/model")
    assert done.returncode == 0, done.stderr
    snapshot = folder(tmp_path) / "snapshots" / COMMIT
    assert done.stdout == f"{snapshot}\n"
    assert sorted(path.name for path in snapshot.iterdir()) == ["config.json", "empty.json", "model.safetensors",
                                                                "tokenizer.json"]
    for path in snapshot.iterdir():
        assert path.is_symlink() and path.read_bytes() == FILES[path.name]
        assert path.resolve() == folder(tmp_path) / "blobs" / hub.etag(path.name)
    assert (folder(tmp_path) / "refs" / "main").read_text() == COMMIT
    assert not list((folder(tmp_path) / "blobs").glob("*.incomplete"))


def test_a_second_pull_downloads_nothing(hub, tmp_path):
    assert pull(hub, tmp_path, "org/model").returncode == 0
    hub.requests.clear()
    assert pull(hub, tmp_path, "org/model").returncode == 0
    assert [path for method, path, _ in hub.requests if method == "GET"] == ["/api/models/org/model/revision/main"]


def test_a_cut_connection_is_resumed(hub, tmp_path):
    hub.cut_after = [40_000, 30_000]
    done = pull(hub, tmp_path, "org/model")
    assert done.returncode == 0, done.stderr
    assert hub.ranges("model.safetensors") == ["", "bytes=40000-", "bytes=70000-"]
    assert (folder(tmp_path) / "snapshots" / COMMIT / "model.safetensors").read_bytes() == WEIGHTS
    assert "trying again" in done.stderr


def test_a_later_pull_goes_on_where_the_last_one_ended(hub, tmp_path):
    hub.cut_after = [40_000]
    broken = pull(hub, tmp_path, "org/model", "--tries", "1")
    assert broken.returncode != 0 and "model.safetensors" in broken.stderr
    assert not (folder(tmp_path) / "refs" / "main").exists()
    assert pull(hub, tmp_path, "org/model").returncode == 0
    assert hub.ranges("model.safetensors") == ["", "bytes=40000-"]


def test_a_server_that_ignores_the_range_starts_over(hub, tmp_path):
    hub.cut_after = [40_000]
    hub.ignore_range = True
    assert pull(hub, tmp_path, "org/model").returncode == 0
    assert (folder(tmp_path) / "snapshots" / COMMIT / "model.safetensors").read_bytes() == WEIGHTS


def test_a_busy_hub_is_asked_again(hub, tmp_path):
    hub.busy = 2
    assert pull(hub, tmp_path, "org/model").returncode == 0


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_wrong_checksum_is_thrown_away(hub, tmp_path, name):
    hub.wrong_bytes = {name}
    broken = pull(hub, tmp_path, "org/model")
    assert broken.returncode != 0
    assert name in broken.stderr and "checksum" in broken.stderr and hub.etag(name) in broken.stderr
    assert not list((folder(tmp_path) / "blobs").glob(hub.etag(name) + "*"))
    assert not (folder(tmp_path) / "snapshots" / COMMIT / name).exists()
    hub.wrong_bytes = set()
    assert pull(hub, tmp_path, "org/model").returncode == 0


@pytest.mark.parametrize("name", ["../../evil.json", "/etc/evil.json", "a/../../evil.json", "a//b.json", "a\\b.json",
                                  "..", "a/./b.json", "evil\n.json"])
def test_file_names_that_lead_out_are_refused(hub, tmp_path, name):
    hub.listed.append(name)
    refused = pull(hub, tmp_path, "org/model")
    assert refused.returncode != 0
    assert "leads out of the model's folder" in refused.stderr
    assert not list(tmp_path.iterdir())


def test_offline_uses_what_is_there(hub, tmp_path):
    assert pull(hub, tmp_path, "org/model").returncode == 0
    hub.requests.clear()
    held = pull(hub, tmp_path, "org/model", HF_HUB_OFFLINE="1")
    assert held.returncode == 0 and held.stdout == f"{folder(tmp_path) / 'snapshots' / COMMIT}\n"
    absent = pull(hub, tmp_path, "org/other", HF_HUB_OFFLINE="1")
    assert absent.returncode != 0 and "HF_HUB_OFFLINE" in absent.stderr
    assert hub.requests == []


def test_the_token_goes_to_the_hub_and_is_asked_for(hub, tmp_path):
    hub.token = "secret"
    refused = pull(hub, tmp_path, "org/model")
    assert refused.returncode != 0 and "HF_TOKEN" in refused.stderr and "secret" not in refused.stderr
    assert pull(hub, tmp_path, "org/model", HF_TOKEN="secret").returncode == 0


def test_one_gguf_file_by_name_or_quantisation(hub, tmp_path):
    for name in ["m-Q4_K_M.gguf", "m-Q8_0.gguf", "big-Q6_K-00001-of-00002.gguf", "big-Q6_K-00002-of-00002.gguf"]:
        hub.files[name] = name.encode() * 200
        hub.listed.append(name)
    snapshot = folder(tmp_path) / "snapshots" / COMMIT
    assert pull(hub, tmp_path, "org/model:q4_k_m").stdout == f"{snapshot}/m-Q4_K_M.gguf\n"
    assert pull(hub, tmp_path, "org/model:m-Q8_0.gguf").stdout == f"{snapshot}/m-Q8_0.gguf\n"
    assert pull(hub, tmp_path, "org/model:Q6_K").stdout == f"{snapshot}/big-Q6_K-00001-of-00002.gguf\n"
    assert (snapshot / "big-Q6_K-00002-of-00002.gguf").exists()
    assert not (snapshot / "config.json").exists()
    missing = pull(hub, tmp_path, "org/model:Q2_K")
    assert missing.returncode != 0 and "m-Q4_K_M.gguf" in missing.stderr
    held = pull(hub, tmp_path, "org/model:Q8_0", HF_HUB_OFFLINE="1")
    assert held.stdout == f"{snapshot}/m-Q8_0.gguf\n"


def test_include_patterns_choose_files(hub, tmp_path):
    assert pull(hub, tmp_path, "org/model", "--include", "*.md", "--include", "config.*").returncode == 0
    snapshot = folder(tmp_path) / "snapshots" / COMMIT
    assert sorted(path.name for path in snapshot.iterdir()) == ["README.md", "config.json"]
    nothing = pull(hub, tmp_path, "org/model", "--include", "*.bin")
    assert nothing.returncode != 0 and "*.bin" in nothing.stderr


def test_what_is_not_there_is_said(hub, tmp_path):
    absent = pull(hub, tmp_path, "org/absent")
    assert absent.returncode != 0 and "org/absent" in absent.stderr and "404" in absent.stderr
    for name in ["model", "org/../model", "a/b/c", "/etc/passwd", "org/model:../x"]:
        wrong = pull(hub, tmp_path, name)
        assert wrong.returncode == 2, name
    unreachable = pull(None, tmp_path, "org/model", "--tries", "1")
    assert unreachable.returncode != 0 and "HF_ENDPOINT" in unreachable.stderr
