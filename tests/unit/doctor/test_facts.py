from toolwire.doctor.facts import BY_ADDRESS, ServerFacts


def test_only_a_server_at_openais_address_is_called_openai() -> None:
    proxy = ServerFacts("http://h/v1", "m", kind="openai", why="its models are owned by 'openai'")
    assert proxy.name == "an OpenAI-compatible server"
    assert ServerFacts("u", "m", kind="openai", why=BY_ADDRESS).name == "OpenAI"


def test_a_server_that_does_not_say_what_it_is_has_no_name() -> None:
    assert ServerFacts("u", "m").name == "a server that does not say what it is"
    assert ServerFacts("u", "m", kind="vllm").name == "vLLM"
    assert ServerFacts("u", "m", is_toolwire=True).name == "Toolwire"
