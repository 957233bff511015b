"""EXPLAIN: what runs, why, what it is expected to cost, and what the alternatives would."""

from thalweg.explain.explanation import Explanation, explain

__all__ = ["Explanation", "explain"]
