"""The words of the language of tf.contrib.specs: layers, operations and how networks share variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.layers.batch_norm import batch_norm
from tfcompat._src.contrib.layers.conv import convolution2d
from tfcompat._src.contrib.layers.core import dropout, flatten, fully_connected
from tfcompat._src.contrib.layers.normalization import unit_norm
from tfcompat._src.contrib.layers.pooling import avg_pool2d, max_pool2d
from tfcompat._src.contrib.specs import specs_lib
from tfcompat._src.contrib.specs.specs_lib import External as External
from tfcompat._src.contrib.specs.specs_lib import Import as Import
from tfcompat._src.contrib.specs.specs_lib import debug as debug
from tfcompat._src.ops.array import constant, join, reorder, shape
from tfcompat._src.ops.control import printing
from tfcompat._src.ops.math import unary
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.ops.nn.lrn import lrn
from tfcompat._src.ops.nn.softmax import softmax
from tfcompat._src.variables.scope import VariableScope, get_variable, variable_scope

if TYPE_CHECKING:
    from tfcompat._src.graph.tensor import Tensor

Fun = export("contrib.specs.Fun")(specs_lib.Function)


@export("contrib.specs.Idx")
class Idx(specs_lib.Composable):
    """The network that gives its input."""

    def funcall(self, x: object) -> Any:
        return x


@export("contrib.specs.Conc")
class Conc(specs_lib.Composable):
    """The outputs of several networks for one input, joined along the dimension `dim`."""

    def __init__(self, dim: int, *args: specs_lib.Composable) -> None:
        self.dim = dim
        self.funs = args

    def funcall(self, x: object) -> Tensor:
        return join.concat([each.funcall(x) for each in self.funs], self.dim)


Print = export("contrib.specs.Print")(Fun(printing.Print))
Id = export("contrib.specs.Id")(Fun(constant.identity))

Cx = export("contrib.specs.Cx")(Fun(convolution2d))
Cs = export("contrib.specs.Cs")(Cx(activation_fn=unary.sigmoid))
Ct = export("contrib.specs.Ct")(Cx(activation_fn=unary.tanh))
Cr = export("contrib.specs.Cr")(Cx(activation_fn=relu))
Cm = export("contrib.specs.Cm")(Cx(activation_fn=softmax))
Cl = export("contrib.specs.Cl")(Cx(activation_fn=None))

Fx = export("contrib.specs.Fx")(Fun(fully_connected))
Fs = export("contrib.specs.Fs")(Fx(activation_fn=unary.sigmoid))
Ft = export("contrib.specs.Ft")(Fx(activation_fn=unary.tanh))
Fr = export("contrib.specs.Fr")(Fx(activation_fn=relu))
Fm = export("contrib.specs.Fm")(Fx(activation_fn=softmax))
Fl = export("contrib.specs.Fl")(Fx(activation_fn=None))

Mp = export("contrib.specs.Mp")(Fun(max_pool2d))
Ap = export("contrib.specs.Ap")(Fun(avg_pool2d))

Do = export("contrib.specs.Do")(Fun(dropout))
Bn = export("contrib.specs.Bn")(Fun(batch_norm))
Lrn = export("contrib.specs.Lrn")(Fun(lrn))
Unit = export("contrib.specs.Unit")(Fun(unit_norm))

Flat = export("contrib.specs.Flat")(Fun(flatten))
Reshape = export("contrib.specs.Reshape")(Fun(shape.reshape))
Transpose = export("contrib.specs.Transpose")(Fun(reorder.transpose))
Squeeze = export("contrib.specs.Squeeze")(Fun(shape.squeeze))
Expand = export("contrib.specs.Expand")(Fun(shape.expand_dims))

Relu = export("contrib.specs.Relu")(Fun(relu))
Sig = export("contrib.specs.Sig")(Fun(unary.sigmoid))
Tanh = export("contrib.specs.Tanh")(Fun(unary.tanh))
Smax = export("contrib.specs.Smax")(Fun(softmax))


@export("contrib.specs.Dws")
def Dws(n: int) -> specs_lib.Function:
    """A convolution of one pixel with `n` outputs, and a sigmoid."""
    return Cs(n, [1, 1])


@export("contrib.specs.Dwm")
def Dwm(n: int) -> specs_lib.Function:
    """A convolution of one pixel with `n` outputs, and a softmax."""
    return Cm(n, [1, 1])


@export("contrib.specs.Var")
def Var(name: str, *args: object, **kw: object) -> specs_lib.Callable:
    """A network that gives the variable `name`, whatever its input; the arguments are those of `tf.get_variable`."""
    return specs_lib.Callable(lambda x: get_variable(name, *args, **kw))


@export("contrib.specs.Shared")
class Shared(specs_lib.Composable):
    """A network whose variables are the same wherever it stands.

    Args:
      subnet: the network.
      name: has to be None: 1.15 refuses each name.
      scope: VariableScope of the variables, which are there already; by default one is made at the first use.

    Raises:
      ValueError: There is a name, or the scope is not a VariableScope.
    """

    shared_number = 1

    def __init__(self, subnet: specs_lib.Composable, name: None = None, scope: VariableScope | None = None) -> None:
        if scope is not None and not isinstance(scope, VariableScope):
            raise ValueError(f"The scope of a shared network is {scope!r}; it must be a VariableScope or None.")
        if name is not None:
            raise ValueError(f"A shared network cannot have a name, but got {name!r}; give it a VariableScope as scope.")
        self.subnet = subnet
        self.name = f"Shared_{Shared.shared_number}"
        self.scope = scope
        Shared.shared_number += 1

    def funcall(self, x: object) -> Any:
        first = self.scope is None
        with variable_scope(self.name if first else self.scope, values=[x], reuse=None if first else True) as scope:
            self.scope = scope if first else self.scope
            return self.subnet.funcall(x)
