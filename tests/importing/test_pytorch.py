import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from flexnet import (  # noqa: E402  # noqa: E402
    CORRECTED,
    Cluster,
    FlexNetError,
    OpType,
    complete_table,
    from_torch,
    make_problem,
    read_graph,
    roofline_table,
    write_graph,
)
from flexnet.importing.entry import import_torch  # noqa: E402


class Experts(nn.Module):
    """Every token to two of four experts, by one product for all."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.gate = nn.Linear(width, 4)
        self.up = nn.Parameter(torch.empty(4, width, 32))
        self.down = nn.Parameter(torch.empty(4, 32, width))

    def forward(self, x):
        rows = torch.einsum("bsd,bse->besd", x, self.gate(x).softmax(-1))
        rows = torch.einsum("besd,edf->besf", rows, self.up).relu()
        return torch.einsum("besf,efd->bsd", rows, self.down)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(32, 16)
        self.experts = Experts()
        self.norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 32, bias=False)
        self.head.weight = self.table.weight

    def forward(self, tokens):
        x = self.table(tokens)
        return self.head(self.norm(x + self.experts(x)))


class Branch(nn.Module):
    def forward(self, x):
        return x * 2 if x.sum() > 0 else x


class Masked(nn.Module):
    def forward(self, x):
        return x[x > 0].sum()


class Mixed(nn.Module):
    """Its scale is on the CPU wherever it is made, and read twice; in training it is left out by chance."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.FloatTensor(16))
        self.inner = nn.Linear(16, 16)

    def forward(self, x):
        if self.training and torch.rand([]) < 0.1:
            return x
        return self.inner(x).cumsum(-1) * self.scale + x * (1 - self.scale)


class Checked(nn.Module):
    def forward(self, x):
        torch._check(x.argmax().item() <= 4)
        torch._check_tensor_all(x > 0)
        return x * 2


class Known(nn.Module):
    """Branches on masks, and picks by them, that are the same for every input."""

    def forward(self, x):
        mask = torch.ones(x.shape[1], device=x.device)
        mask[0] = 0
        rows, places = x[:, mask > 0], torch.where(mask)[0]
        for n in torch.tensor([2, 1]).tolist():
            rows = rows[:, n:] if bool(mask.sum() == x.shape[1] - 1) else rows * 2
        return rows + len(places)


class Overwritten(nn.Module):
    """Nothing is known of ones where data are written to them, through a view too."""

    def forward(self, x):
        mask = torch.ones(x.shape, device=x.device)
        mask.view(-1)[0] = x.sum()
        return x * 2 if mask.sum() > 0 else x


class Patches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(12, 4)

    def forward(self, x):
        rows = self.inner(nn.functional.unfold(x, 2, stride=2).transpose(1, 2)).transpose(1, 2)
        return nn.functional.pixel_shuffle(rows.reshape(len(x), 4, 2, 2), 2)


class Complex(nn.Module):
    """Turns pairs of features as complex numbers, in front of registers that a configuration leaves out."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(16, 16)
        self.first = nn.Parameter(torch.empty(1, 1, 16))
        self.registers = nn.Parameter(torch.empty(1, 0, 16))

    def forward(self, x):
        y = self.inner(x)
        turns = torch.polar(torch.ones(x.shape[1], 8), torch.ones(x.shape[1], 8))
        y = torch.view_as_real(torch.view_as_complex(y.reshape(*x.shape[:2], 8, 2)) * turns).flatten(2)
        lead = torch.cat([self.first, self.registers], dim=1).expand(len(x), -1, -1)
        return torch.cat([lead, y], dim=1)


def _tokens(batch=8, steps=4):
    return torch.zeros(batch, steps, dtype=torch.long, device="meta")


def _made(module):
    with torch.device("meta"):
        return module()


def test_counts_are_pytorchs():
    from torch.utils.flop_counter import FlopCounterMode

    module = _made(Tied)
    found = import_torch(module, [_tokens()])
    with FlopCounterMode(display=False) as forward:
        result = module(_tokens())
    with FlopCounterMode(display=False) as backward:
        result.backward(torch.empty_like(result))
    assert found.graph.n_parameter == sum(one.numel() for one in module.parameters())
    assert found.graph.idle == 0
    assert found.flops == (forward.get_total_flops(), backward.get_total_flops())


def test_products_that_no_result_hangs_on_run_forward_alone():
    class Unread(nn.Linear):
        def forward(self, x):
            super().forward(x)
            return super().forward(x)

    found = import_torch(_made(lambda: Unread(16, 4)), [torch.empty(8, 16)])
    once = 2 * 8 * 16 * 4
    assert found.flops == (2 * once, once)


def test_tied_weights_are_one():
    graph = from_torch(_made(Tied), [_tokens()], name="tied")
    first, last = graph.operators[0], graph.operators[-1]
    assert (first.kind, last.kind) == (OpType.TOKEN_EMBEDDING, OpType.LINEAR)
    assert last.tied == {0: (first.index, 0)}
    assert first.name == "table.TokenEmbedding_100"


def test_a_graph_is_searched_and_of_any_batch(tmp_path):
    path = tmp_path / "net.json"
    write_graph(path, from_torch(_made(Tied), {"tokens": _tokens()}))
    graph, _ = read_graph(path, 64)
    again = from_torch(_made(Tied), [_tokens(64)])
    assert [op.outputs for op in graph.operators] == [op.outputs for op in again.operators]
    assert [op.inputs for op in graph.operators] == [op.inputs for op in again.operators]
    table = complete_table(roofline_table(graph, "a100", n_server=4), graph)
    problem = make_problem(graph, table, Cluster(4), CORRECTED)
    assert len(problem.candidates) == len(graph.operators)


def test_heads_are_cut_through_views():
    graph = from_torch(_made(lambda: nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)), [torch.empty(8, 4, 16)])
    attention = next(op for op in graph.operators if op.kind == OpType.SCALED_DOT_PRODUCT)
    from flexnet.model.operators import kind_of

    assert kind_of(attention).cut_sizes(attention)[0] == 4


def test_values_that_hang_on_no_input_are_known():
    graph = from_torch(Known(), [torch.empty(8, 6)])
    assert graph.operators[-1].outputs[0].shape == (8, 2)


@pytest.mark.parametrize("module", [Branch, Masked, Overwritten])
def test_what_hangs_on_values_is_one_sentence(module):
    with pytest.raises(FlexNetError, match=r"values|size"):
        from_torch(module(), [torch.empty(4, 4)])


def test_parts_on_other_devices_and_layers_left_out_by_chance():
    module = _made(Mixed)
    assert {one.device.type for one in module.parameters()} == {"cpu", "meta"}
    graph = from_torch(module, [torch.empty(8, 4, 16, device="meta")])
    assert module.training
    assert module.scale.device.type == "cpu"
    assert (graph.n_parameter, graph.idle) == (16 + 16 * 17, 0)
    assert [op.kind for op in graph.operators] == [OpType.LINEAR, OpType.FUSION]
    assert graph.operators[1].weights[0].volume == 16


def test_checks_of_values_are_no_operators():
    assert [op.kind for op in from_torch(Checked(), [torch.empty(8, 4)]).operators] == [OpType.FUSION]


def test_complex_numbers_and_empty_parameters():
    graph = from_torch(_made(Complex), [torch.empty(8, 4, 16, device="meta")])
    assert [op.kind for op in graph.operators] == [OpType.LINEAR, OpType.FUSION]
    assert (graph.n_parameter, graph.idle) == (16 * 17 + 16, 0)
    assert graph.operators[1].outputs[0].shape == (8, 5, 8, 2)


def test_places_of_a_mask_are_filled():
    class Filled(nn.Module):
        def forward(self, x, images):
            return x.masked_scatter((x > 0).any(-1, keepdim=True), images)

    graph = from_torch(Filled(), [torch.empty(8, 4, 16), torch.empty(8, 3, 16)])
    assert graph.operators[-1].outputs[0].shape == (8, 4, 16)
    assert graph.operators[-1].equation.endswith("->a**")


def test_windows_change_channels():
    graph = from_torch(_made(Patches), [torch.empty(8, 3, 4, 4)])
    linear = next(op for op in graph.operators if op.kind == OpType.LINEAR)
    assert linear.outputs[0].shape == (8, 4, 4)
    assert graph.operators[-1].outputs[0].shape[0] == 8
    assert graph.operators[0].equation.endswith("->a**")


def test_inputs_must_agree():
    with pytest.raises(FlexNetError, match="3 and 4 samples"):
        from_torch(Branch(), [torch.empty(4, 4), torch.empty(3, 4)])


@pytest.mark.parametrize(
    ("architecture", "sizes"),
    [
        ("Llama", {"num_key_value_heads": 2}),
        ("Mixtral", {"num_key_value_heads": 2, "num_local_experts": 4}),
        ("GPT2", {}),
        ("T5", {"d_model": 32, "d_kv": 8, "num_layers": 2, "num_heads": 4}),
    ],
)
def test_hugging_face(architecture, sizes):
    transformers = pytest.importorskip("transformers")
    small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, **sizes}
    config = getattr(transformers, f"{architecture}Config")(vocab_size=64, use_cache=False, **small)
    with torch.device("meta"):
        module = transformers.AutoModel.from_config(config)
    inputs = {"input_ids": _tokens(4, 8)} | ({"decoder_input_ids": _tokens(4, 8)} if architecture == "T5" else {})
    found = import_torch(module, inputs)
    assert found.graph.n_parameter == sum(one.numel() for one in module.parameters())
    assert found.graph.idle == 0
    kinds = {op.kind for op in found.graph.operators}
    assert {OpType.LINEAR, OpType.SCALED_DOT_PRODUCT, OpType.TOKEN_EMBEDDING} <= kinds
    if architecture == "Mixtral":
        assert any(op.equation.startswith("abcd,b") for op in found.graph.operators)
