"""Words that mean something to each parser: a fuzzer that knows them gets further."""


def _keys(names: str) -> tuple[bytes, ...]:
    return tuple(f'"{name}":'.encode() for name in names.split())


HTTP = (
    b"GET / HTTP/1.1\r\n", b"POST /v1/chat/completions HTTP/1.1\r\n", b"CONNECT ", b"http://h/p",
    b" HTTP/1.0", b"HTTP/1.1", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"host: x\r\n", b"x-a: b\r\n",
    b"content-length: 3\r\n", b"content-length: 0\r\n", b"transfer-encoding: chunked\r\n",
    b"transfer-encoding: gzip, chunked\r\n", b"trailer: a\r\n", b"expect: 100-continue\r\n",
    b"connection: close\r\n", b"connection: upgrade\r\n", b"upgrade: h2c\r\n", b"\r\n\r\n", b"\t",
    b"http2-settings: AAM\r\n", b"0\r\n\r\n", b"3\r\nabc\r\n", b"ffffffffffffffff\r\n",
    b";ext=1", b" :",
)  # fmt: skip

SSE = (
    b"data: ", b"data:", b"data: {}\n\n", b"event: error\n", b": keepalive\n\n", b"id: 1\n",
    b"data: [DONE]\n\n", b"\n\n", b"\r\n\r\n", b"\r\r", b"retry: 1\n", b"\xef\xbb\xbf",
)  # fmt: skip

ANSWER = (
    *SSE,
    *_keys("choices delta message content tool_calls function arguments name index id usage error"),
    *_keys("refusal logprobs function_call reasoning_content custom input audio annotations text"),
    b'"finish_reason":"tool_calls"', b'"finish_reason":"stop"', b'"finish_reason":"length"',
    b'"name":"f"', b'"index":0', b"<tool_call>", b"</tool_call>", b'{\\"a\\": 1}',
    b'{\\"name\\": \\"f\\", \\"arguments\\": {}}',
)  # fmt: skip

REQUEST = (
    *_keys("model messages tools tool_choice parallel_tool_calls stream stream_options n stop id"),
    *_keys("include_usage role content tool_calls tool_call_id name function arguments parameters"),
    *_keys("strict type custom max_tokens response_format json_schema temperature logit_bias seed"),
    *_keys("text image_url metadata reasoning_content function_call"),
    b'"user"', b'"assistant"', b'"tool"', b'"system"', b'"required"', b'"function"', b'"m"',
)  # fmt: skip

MESSAGES = (
    *_keys("model messages system tools tool_choice stream max_tokens stop_sequences thinking id"),
    *_keys("output_config format effort metadata user_id role content type text source data name"),
    *_keys("tool_use_id input is_error signature input_schema strict defer_loading tool tool_name"),
    *_keys("definition title context url media_type budget_tokens clear_at thread top_k"),
    b'"user"', b'"assistant"', b'"system"', b'"tool_use"', b'"tool_result"', b'"thinking"', b'"m"',
    b'"tool_reference"', b'"tool_addition"', b'"document"', b'"image"', b'"base64"', b'"any"',
)  # fmt: skip

SCHEMA = (
    *_keys("type properties required additionalProperties items anyOf oneOf allOf not if then"),
    *_keys("else $ref $defs definitions $id $anchor $schema $dynamicRef enum const pattern format"),
    *_keys("patternProperties minimum multipleOf maxLength minItems uniqueItems contains"),
    *_keys("prefixItems dependentSchemas dependentRequired propertyNames unevaluatedProperties"),
    b'"#"', b'"#/$defs/a"', b'"http://127.0.0.1:9/x"', b'"object"', b'"array"', b'"string"',
    b'"(a+)+$"', b'"(?=x)"', b'"\\\\p{L}{1,50}"', b'"[^]"', b'"(?<n>a)\\\\k<n>"',
)  # fmt: skip

TEMPLATE = (
    *_keys("chat_template bos_token added_tokens_decoder"),
    b"{{", b"}}", b"{%", b"%}", b"{%- for m in messages %}", b"{% endfor %}", b"{% if tools %}",
    b"{% endif %}", b"m.role", b"m['content']", b" | tojson", b"raise_exception('x')", b"[INST]",
    b"{% set x = range(999999) %}", b"{% macro a() %}", b"{{ a() }}", b"__class__", b"USER:",
    b"namespace(a=1)", b"<|im_start|>", b"### Response:", b"tokenizer.chat_template", b"GGUF",
    b"\x08\x00\x00\x00", b"\x09\x00\x00\x00", b"\xff" * 8,
)  # fmt: skip

TRACE = (
    *_keys("version bodies request body profile plan attempts heard fragments text calls finish"),
    *_keys("way kind format spans findings sent error rules done extras usage gap arguments json"),
    *_keys("index name choice"),
    b'"hermes"', b'"hybrid"', b'"native"', b"1", b"null", b"true",
)  # fmt: skip

FORMATS = (
    b"<tool_call>", b"</tool_call>", b"<think>", b"</think>",
    b"<function=get_time>", b"</function>",
    b'{"name": "get_time", "arguments": {', b"[get_time(", b"tz=", b")]", b"```json\n", b"```",
    b"`", b"<parameter=tz>", b"</parameter>", b"[TOOL_CALLS]", b"<|python_tag|>",
    b"<|channel|>", b"\n\n",
)  # fmt: skip
