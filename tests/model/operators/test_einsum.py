import pytest

from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.operators.einsum import parse_equation


@pytest.mark.parametrize("equation", ["ab,bc", "ab->a", "ab,bc,cd->ad", "aa,ab->b", "ab,bc->ad", "ab,b1->a", ",->"])
def test_wrong_equations_are_refused(equation: str) -> None:
    with pytest.raises(FlexNetError, match="einsum"):
        parse_equation(equation)


def test_shapes_must_fit() -> None:
    b = GraphBuilder("wrong", 8)
    for shape in ((5, 3), (4,)):
        with pytest.raises(FlexNetError, match="cannot take"):
            b.einsum("ab,bc->ac", b.input(4), shape)


def test_operators_of_sequence_models_have_the_shapes_they_say() -> None:
    b = GraphBuilder("net", 8)
    x = b.lstm(b.input(16, 32), 24, 2)
    assert x.tensor.dims == (24, 16, 8)
    stacked = b.stack([x, x, x])
    assert stacked.tensor.dims == (24, 16, 8, 3)
    assert [y.tensor.dims for y in b.unstack(stacked)] == [(24, 16, 8)] * 3
    assert b.reduce_mean(x, (1,)).tensor.dims == (24, 8)
    assert b.layer_norm(x).tensor.dims == x.tensor.dims
    weights = [tensor.volume for tensor in b.build().operators[0].weights]
    assert weights == [4 * 24 * (32 + 24), 4 * 24 * (24 + 24), 4 * 24, 4 * 24]
    with pytest.raises(FlexNetError, match="cannot reshape"):
        b.reshape(x, 7)
    with pytest.raises(FlexNetError, match="equal shapes"):
        b.stack([x, b.input(16, 24, 2)])
