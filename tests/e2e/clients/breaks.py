"""What Toolwire has to heal: the variants of the backend that break each client directly.

Measured with `matrix`, over every variant that leaves the meaning of the answer intact (one that
loses it, such as arguments that never come, no gateway can make good; nor a stream that breaks off
in its text, after some of it was delivered). A client that finishes by asking again is not broken.
"""

_DIRECTLY = {
    name: tuple(variants.split())
    for name, variants in {
        "openai-python": """
            args_obj args_null_first args_twice parallel_interleaved legacy_function_call
            multiline_data nonstream_force stream_force notype noindex shared_index index_gap
            idrepeat idempty idnull name_repeated name_split name_late id_missing norole roleeach
            nousage usage_in_finish usage_every nofinish content_parts noobject nochoiceindex
            empty200 refuse err500 html502
        """,
        "cline-3": """
            args_obj args_twice legacy_function_call multiline_data nonstream_force index_text
            name_split id_missing nofinish content_parts empty200 midstream_cut cut_in_call
            eof_in_call malformed
        """,
        "cline-2": """
            args_obj noargs_empty noargs_missing legacy_function_call nonstream_force name_split
            id_duplicate id_missing
        """,
        "cline-2-xml": "nonstream_force content_parts",
        "goose": """
            args_obj args_twice legacy_function_call multiline_data nonstream_force noindex
            index_text name_split name_late id_missing
        """,
        "pi": """
            args_obj legacy_function_call nonstream_force noindex index_text name_split
            finish_unknown empty200
        """,
        "continue": """
            args_obj legacy_function_call nonstream_force noindex name_split id_missing
            usage_every empty200
        """,
        "opencode": """
            args_obj legacy_function_call nonstream_force noindex index_text name_split name_late
            id_missing nofinish finish_unknown content_parts
        """,
        "qwen-code": """
            args_obj args_twice legacy_function_call plain_type nonstream_force index_text
            name_split id_duplicate nofinish
        """,
        "openai-node": """
            args_obj args_null_first args_twice parallel_interleaved legacy_function_call
            multiline_data plain_type nonstream_force stream_force notype noindex shared_index
            index_gap index_text idempty idnull name_split name_late norole nofinish
            nochoiceindex empty200 refuse err500 html502
        """,
        "ai-sdk": """
            args_obj args_twice legacy_function_call nonstream_force stream_force notype noindex
            index_text idempty name_split name_late id_duplicate nofinish finish_unknown
            content_parts nochoiceindex empty200 refuse err500 html502
        """,
        "langchain": """
            args_obj legacy_function_call nonstream_force stream_force noindex shared_index
            idrepeat name_repeated id_missing norole content_parts empty200 refuse
        """,
        "pydantic-ai": """
            args_obj args_twice legacy_function_call nonstream_force stream_force notype
            shared_index idrepeat name_repeated id_duplicate id_missing norole noobject
            nochoiceindex empty200
        """,
    }.items()
}

ALL = tuple(dict.fromkeys(variant for variants in _DIRECTLY.values() for variant in variants))
"""Every variant that breaks some client."""

_BEHIND = {
    name: tuple(variants.split())
    for name, variants in {
        "codex-patch": "args_obj shared_index name_split id_missing nofinish nonstream_force",
        "codex-code": "args_obj noindex name_split content_parts nofinish cut_in_call",
        "codex-mcp": "args_obj args_twice name_late id_duplicate nofinish malformed",
        "cline-3-native": "args_obj noindex name_split nonstream_force nofinish midstream_cut",
        "openai-python-responses": "args_obj args_twice noindex idrepeat name_late content_parts",
        "openai-node-responses": "args_obj parallel_interleaved shared_index norole nofinish",
        "ai-sdk-responses": "args_obj args_twice idempty name_split content_parts nousage",
        "openai-agents": "args_obj parallel_interleaved noindex id_missing stream_force nofinish",
        "anthropic-python": "args_obj noindex parallel_interleaved name_split id_missing nofinish",
        "anthropic-python-0": "args_obj noindex parallel_interleaved name_split nofinish",
        "anthropic-node": "args_obj shared_index parallel_interleaved nonstream_force nofinish",
        "ai-sdk-anthropic": "args_obj shared_index name_split content_parts nousage nofinish",
        "cline-3-anthropic": "args_obj noindex name_split nonstream_force nofinish",
    }.items()
}
"""Clients behind the Responses and the Messages API, which never see what the backend does: some of
each kind. Codex and Claude Code do the task on all."""

BREAKS = {**_DIRECTLY, **_BEHIND, "codex": ALL, "claude-code": ALL}
