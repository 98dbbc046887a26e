"""The official openai client, unmodified, against the server."""
import asyncio

import openai
import pytest

MESSAGES = [{"role": "user", "content": "Tell me a short story about a fox."}]


@pytest.fixture(scope="module")
def client(server):
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0, timeout=120) as made:
        yield made


def test_chat_and_stream(client):
    whole = client.chat.completions.create(model="served", messages=MESSAGES, temperature=0, max_tokens=32)
    assert whole.choices[0].message.content and whole.usage.prompt_tokens_details.cached_tokens >= 0
    text, last = "", None
    with client.chat.completions.create(model="served", messages=MESSAGES, temperature=0, max_tokens=32, stream=True,
                                        stream_options={"include_usage": True}) as chunks:
        for chunk in chunks:
            if chunk.choices:
                text += chunk.choices[0].delta.content or ""
            last = chunk
    assert text == whole.choices[0].message.content
    assert last.usage.completion_tokens == whole.usage.completion_tokens


def test_stream_helper_accumulates(client):
    # It raises where the length limit ends the answer.
    with client.chat.completions.stream(model="served", messages=MESSAGES, stop=["."], temperature=0) as events:
        for _ in events:
            pass
        final = events.get_final_completion()
    assert final.choices[0].message.role == "assistant" and final.choices[0].message.content


def test_completions(client):
    answer = client.completions.create(model="served", prompt=["Hello", "Once"], max_tokens=4, logprobs=2, echo=True)
    assert [choice.index for choice in answer.choices] == [0, 1]
    assert answer.choices[0].text.startswith("Hello") and answer.choices[0].logprobs.token_logprobs[0] is None


def test_logprobs_n_stop_seed(client):
    def ask(seed):
        return client.chat.completions.create(model="served", messages=MESSAGES, n=2, seed=seed, temperature=1.0,
                                              max_tokens=12, logprobs=True, top_logprobs=2, stop=["zzz"])
    first, again, other = ask(7), ask(7), ask(8)
    assert [c.message.content for c in first.choices] == [c.message.content for c in again.choices]
    assert [c.message.content for c in first.choices] != [c.message.content for c in other.choices]
    assert len(first.choices[0].logprobs.content[0].top_logprobs) == 2


def test_extra_body(client):
    answer = client.chat.completions.create(model="served", messages=MESSAGES, max_tokens=10,
                                            extra_body={"top_k": 1, "ignore_eos": True, "min_p": 0.1})
    assert answer.usage.completion_tokens == 10


def test_models(client):
    assert [model.id for model in client.models.list()] == ["served", "alias"]
    assert client.models.retrieve("alias").id == "alias"


def test_errors_have_their_classes(client):
    with pytest.raises(openai.BadRequestError) as bad:
        client.chat.completions.create(model="served", messages=[])
    assert bad.value.param == "messages" and bad.value.request_id
    with pytest.raises(openai.NotFoundError) as missing:
        client.chat.completions.create(model="other", messages=MESSAGES)
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as long:
        client.completions.create(model="served", prompt="word " * 5000)
    assert long.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError) as tools:
        client.chat.completions.create(model="served", messages=MESSAGES,
                                       tools=[{"type": "function", "function": {"name": "f", "parameters": {}}}])
    assert tools.value.param == "tools"


def test_timeout_cancels(client, server):
    with pytest.raises(openai.APITimeoutError):
        client.with_options(timeout=0.5).chat.completions.create(model="served", messages=MESSAGES, max_tokens=1900,
                                                                 extra_body={"ignore_eos": True})
    server.wait_for(lambda: server.metric("vllm:num_requests_running") == 0, seconds=3)


def test_closing_a_stream_cancels(client, server):
    chunks = client.chat.completions.create(model="served", messages=MESSAGES, max_tokens=1900, stream=True,
                                            extra_body={"ignore_eos": True})
    next(iter(chunks))
    chunks.close()
    server.wait_for(lambda: server.metric("vllm:num_requests_running") == 0, seconds=3)


def test_async_many_at_once(server):
    async def run():
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0, timeout=300) as client:
            async def ask(i):
                answer = await client.chat.completions.create(
                    model="served", messages=[{"role": "user", "content": f"Number {i % 8}?"}], max_tokens=8, temperature=0)
                return i % 8, answer.choices[0].message.content
            return await asyncio.gather(*(ask(i) for i in range(32)))

    texts = {}
    for key, text in asyncio.run(run()):
        assert texts.setdefault(key, text) == text
