"""The rules of op types as the gradient registry hands them out: `rule(op, *grads)`, with one gradient returned alone."""

from __future__ import annotations

import functools

from tfcompat._src.base import gradient_registry
from tfcompat._src.base.gradient_registry import Location, Rule
from tfcompat._src.graph import op_spec
from tfcompat._src.graph.operation import Operation
from tfcompat._src.ops.control.kernel_gradient import kernel_gradient


def rule_of_type(op_type: str) -> tuple[Rule | None, Location]:
    """Returns the rule of an op type that 1.15 registers, and where tfcompat defines it.

    The rule is None where 1.15 registers none; where 1.15 registers a function without derivatives (as of ArgMax), it returns None for each input.
    """
    spec, has_rule = op_spec.find(op_type), gradient_registry.registered_in_tensorflow()[op_type] is not None
    if spec is None:
        return _lacking(op_type) if has_rule else None, Location(__file__, 0, "register")
    file, _, line = spec.where.rpartition(":")
    location = Location(file, int(line or 0), "register")
    if isinstance(spec.gradient, op_spec.FromKernel):
        return _alone(kernel_gradient), location
    if isinstance(spec.gradient, op_spec.NotDifferentiable):
        return _nothing_for(len(spec.signature.inputs)) if has_rule else None, location
    return _alone(spec.gradient), location


def _alone(rule: Rule) -> Rule:
    """Returns a rule that gives the gradient of a single input alone, as the rules of 1.15 do, and others in a list."""

    @functools.wraps(rule)
    def gradient(op: Operation, *grads: object) -> object:
        found = rule(op, *grads)
        return found[0] if isinstance(found, (list, tuple)) and len(found) == 1 else found

    return gradient


def _nothing_for(inputs: int) -> Rule:
    """Returns the rule of an op type without derivatives: None for each of its inputs."""

    def gradient(op: Operation, *grads: object) -> object:
        return None if inputs == 1 else [None] * inputs

    return gradient


def _lacking(op_type: str) -> Rule:
    """Returns a rule that raises NotImplementedError, for an op type that tfcompat does not have."""

    def gradient(op: Operation, *grads: object) -> object:
        raise NotImplementedError(f"tfcompat has no op {op_type!r}, whose gradient {op.name!r} (op type {op.type}) is to use.")

    return gradient


gradient_registry.fill_rules(rule_of_type)
