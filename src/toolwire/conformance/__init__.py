"""The conformance kit: cases for every tool-call format, and a runner for any parser.

Write an `Adapter` for a parser, then `run_cases(adapter, cases_of("hermes"))`, or on the command
line `toolwire conform --parser my.module:adapter`, or `pytest --toolwire-parser my.module:adapter`.
"""

from toolwire.conformance.adapter import Adapter, ParserStream, Tools
from toolwire.conformance.calls import ExtractedToolCall, ExtractedToolCallInformation, FunctionCall
from toolwire.conformance.case import PATTERNS, State, TestCase
from toolwire.conformance.deltas import DeltaFunctionCall, DeltaMessage, DeltaToolCall
from toolwire.conformance.faults import AdapterError, InvalidCases, InvalidEntity, InvalidStream
from toolwire.conformance.library import cases_of, formats_with_cases, read_cases
from toolwire.conformance.reconstructor import StreamingToolReconstructor
from toolwire.conformance.runner import Options, Outcome, applicable, run_case, run_cases

__all__ = [
    "PATTERNS",
    "Adapter",
    "AdapterError",
    "DeltaFunctionCall",
    "DeltaMessage",
    "DeltaToolCall",
    "ExtractedToolCall",
    "ExtractedToolCallInformation",
    "FunctionCall",
    "InvalidCases",
    "InvalidEntity",
    "InvalidStream",
    "Options",
    "Outcome",
    "ParserStream",
    "State",
    "StreamingToolReconstructor",
    "TestCase",
    "Tools",
    "applicable",
    "cases_of",
    "formats_with_cases",
    "read_cases",
    "run_case",
    "run_cases",
]
