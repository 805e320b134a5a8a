import numpy as np
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flexnet.cost.coverage import check_covers
from flexnet.cost.measurement_file import read_measurement, write_measurement
from flexnet.cost.table import CostTable, Entry
from flexnet.errors import FlexNetError
from flexnet.published.index import published_measurements

RECORD = {"name": "Dense_8_4", "pc_str": "2-1-4", "fw_time": 0.281293, "bw_time": 1, "mem_req": 640}
DOCUMENT = {"batch_size": 64, "ngpus": 4, "measurements": [RECORD, {**RECORD, "pc_str": "2-1-1"}]}
SHARED = ["alexnet", "candle16", "dlrm128", "dlrm16", "resnet128", "transformer16", "vgg16"]


@pytest.fixture
def save(tmp_path):
    def to_file(document):
        path = tmp_path / "m.json"
        path.write_bytes(document if isinstance(document, bytes) else orjson.dumps(document))
        return path

    return to_file


def fails(path, match, **run):
    with pytest.raises(FlexNetError, match=match) as caught:
        read_measurement(path, **run)
    text = str(caught.value)
    assert "\n" not in text
    assert path.name in text
    assert len(text) < 300 + len(str(path))


def changed(**fields):
    return {**DOCUMENT, "measurements": [RECORD, {**RECORD, **fields}]}


def test_times_are_float32_milliseconds_held_as_seconds(save):
    table = read_measurement(save(DOCUMENT), batch_size=64, n_server=4)
    entry = table.lookup("Dense_8_4", (1, 4))
    assert entry == Entry((1, 4), float(np.float32(0.281293)) * 1e-3, 1e-3, 640)
    assert (table.batch_size, table.n_server, table.source, table.estimated) == (64, 4, "m.json", False)


def test_duplicates_are_kept_in_file_order_and_the_last_counts(save):
    table = read_measurement(save({**DOCUMENT, "measurements": [RECORD, {**RECORD, "fw_time": 2}]}))
    assert [e.forward for e in table.entries["Dense_8_4"]] == [float(np.float32(0.281293)) * 1e-3, 2e-3]
    assert table.lookup("Dense_8_4", (1, 4)).forward == 2e-3


def test_other_keys_become_provenance(save):
    table = read_measurement(save({**DOCUMENT, "estimated": True, "date": "2026-11-21"}))
    assert table.estimated
    assert dict(table.provenance) == {"date": "2026-11-21"}


def test_duplicate_json_keys_are_tolerated(save):
    text = orjson.dumps(DOCUMENT).replace(b'"batch_size":64', b'"batch_size":1,"batch_size":64')
    assert read_measurement(save(text)).batch_size == 64


@pytest.mark.parametrize("name", SHARED)
def test_published_files_load_cover_their_model_and_are_written_back(shared_data, tmp_path, name):
    published = published_measurements()[name]
    path = shared_data / "measurements" / f"{name}.json"
    table = read_measurement(path, batch_size=published.batch_size, n_server=published.n_server)
    check_covers(table, published.build())
    write_measurement(tmp_path / "again.json", table)
    assert orjson.loads((tmp_path / "again.json").read_bytes()) == orjson.loads(path.read_bytes())


def test_the_wrong_batch_size_or_server_count(save):
    path = save(DOCUMENT)
    fails(path, r"^m\.json was measured at batch size 64; --batch-size is 32$", batch_size=32)
    fails(path, r"^m\.json was measured for 4 servers; --nsimnode is 8$", n_server=8)


def test_files_that_cannot_be_read(tmp_path):
    fails(tmp_path / "none.json", "does not exist; make one with flexnet profile")
    fails(tmp_path, "is a directory")
    with pytest.raises(FlexNetError, match="cannot be read"):
        read_measurement("a\0b")
    with pytest.raises(FlexNetError, match="cannot be read"):
        read_measurement("a" * 5000)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"hello",
        orjson.dumps(DOCUMENT)[:-9],
        orjson.dumps(DOCUMENT).replace(b"640", b"NaN"),
        orjson.dumps(DOCUMENT).replace(b"0.281293", b"Infinity"),
        orjson.dumps(DOCUMENT).replace(b"0.281293", b"1e999"),
        orjson.dumps(DOCUMENT).replace(b"Dense", b"\xff\xfe"),
        orjson.dumps(DOCUMENT).replace(b"640", b"6" * 5000),
        b"\xef\xbb\xbf" + orjson.dumps(DOCUMENT),
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
    ],
    ids=["empty", "text", "truncated", "nan", "infinity", "1e999", "utf8", "digits", "bom", "deep", "deep closed"],
)
def test_what_is_not_json(save, text):
    fails(save(text), "is not valid JSON: ")


@pytest.mark.parametrize(
    ("document", "match"),
    [
        ([DOCUMENT], "it holds a list; it must be an object"),
        (None, "it holds null"),
        ({}, "it lacks batch_size, ngpus, measurements"),
        ({"batch_size": 64, "measurements": []}, "it lacks ngpus;"),
        ({**DOCUMENT, "batch_size": True}, "batch_size is true; it must be a whole number"),
        ({**DOCUMENT, "batch_size": 64.0}, "batch_size is 64.0"),
        ({**DOCUMENT, "batch_size": 0}, "batch_size is 0"),
        ({**DOCUMENT, "ngpus": "4"}, "ngpus is 4; it must be a whole number"),
        ({**DOCUMENT, "ngpus": 2**63}, "ngpus is 9223372036854775808"),
        ({**DOCUMENT, "estimated": "maybe"}, "estimated is maybe; it must be true or false"),
        ({**DOCUMENT, "measurements": {}}, "measurements is an object; it must be a list"),
        ({**DOCUMENT, "measurements": []}, "measurements is empty"),
        ({**DOCUMENT, "measurements": [RECORD, 7]}, "measurement 1 is 7; it must be an object"),
    ],
)
def test_what_is_not_a_measurement_file(save, document, match):
    fails(save(document), match)


@pytest.mark.parametrize("key", RECORD)
def test_a_missing_field(save, key):
    broken = {k: v for k, v in RECORD.items() if k != key}
    fails(save({**DOCUMENT, "measurements": [broken]}), rf"measurement 0.* lacks {key}$")


AT = r"^m\.json: measurement 1 \(Dense_8_4 2-1-4\): "


@pytest.mark.parametrize(
    ("field", "value", "match"),
    [
        ("name", 5, r"measurement 1: name is 5"),
        ("name", "", r"measurement 1: name is ''"),
        ("name", "a\n" * 999, r"measurement 1 .*: fw_time"),
        ("pc_str", 214, r"^m\.json: measurement 1 \(Dense_8_4\): pc_str is 214; it must be <rank>-"),
        ("pc_str", "", "pc_str is ''"),
        ("pc_str", "2", "pc_str is 2;"),
        ("pc_str", "2-1-0", "pc_str is 2-1-0;"),
        ("pc_str", "2-1--4", "pc_str is 2-1--4;"),
        ("pc_str", "2-1-4 ", "pc_str is 2-1-4 ;"),
        ("pc_str", "2-1-4\n", r"pc_str is '2-1-4\\n';"),
        ("pc_str", "2-1-٤", "pc_str is 2-1-٤;"),
        ("pc_str", "2-1-" + "9" * 5000, r"pc_str is 2-1-9+\.\.\.;"),
        ("pc_str", "3-1-4", "pc_str 3-1-4 says rank 3 and has 2 degrees"),
        ("fw_time", True, AT + "fw_time is true; it must be a number"),
        ("fw_time", "1.5", AT + "fw_time is 1.5; it must be a number of milliseconds"),
        ("fw_time", None, AT + "fw_time is null"),
        ("fw_time", 3.6e6, AT + "fw_time is 3600000.0 ms, an hour or more"),
        ("bw_time", -1, AT + "bw_time is -1 ms; a time cannot be negative"),
        ("bw_time", 1e39, AT + r"bw_time is 1e\+39 ms; it must be a finite number"),
        ("mem_req", 640.0, AT + "mem_req is 640.0; it must be a whole number of bytes"),
        ("mem_req", True, AT + "mem_req is true"),
        ("mem_req", -1, AT + "mem_req is -1"),
        ("mem_req", 2**63, AT + "mem_req is 9223372036854775808"),
        ("mem_req", [[]], AT + "mem_req is a list"),
    ],
)
def test_a_wrong_field(save, field, value, match):
    fields = {field: value, "fw_time": []} if field == "name" and isinstance(value, str) and value else {field: value}
    fails(save(changed(**fields)), match)


def test_an_int_beyond_64_bits(save):
    fails(save(orjson.dumps(DOCUMENT).replace(b"640", b"6" * 30)), "mem_req is 6.66")


def table(*entries):
    return CostTable(64, 4, {"Dense_8_4": tuple(entries)}, False, "m.json", {})


ONE = Entry((1, 4), 1e-3, 1e-3, 1)


def test_writing_replaces_whole_files_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "m.json"
    path.write_text("old")
    write_measurement(path, table(ONE))
    assert read_measurement(path).entries["Dense_8_4"][0].degrees == (1, 4)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("seconds", [-1e-3, float("nan"), float("inf"), 1e300])
def test_times_that_are_none_are_not_written(tmp_path, seconds):
    with pytest.raises(FlexNetError, match="backward time of Dense_8_4 2-1-4 is"):
        write_measurement(tmp_path / "m.json", table(Entry((1, 4), 1.0, seconds, 1)))
    assert not list(tmp_path.iterdir())


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(FlexNetError, match="cannot write"):
        write_measurement(tmp_path / "none" / "m.json", table(ONE))
    with pytest.raises(FlexNetError, match="cannot write"):
        write_measurement(tmp_path, table(ONE))


def test_provenance_json_cannot_hold(tmp_path):
    with pytest.raises(FlexNetError, match=r"provenance of .*m\.json cannot be written as JSON"):
        write_measurement(tmp_path / "m.json", table(ONE), provenance={"x": object()})


times = st.floats(0, 1e6, allow_nan=False, width=32).map(lambda ms: float(ms) * 1e-3)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(times, times, st.integers(0, 2**63 - 1))
def test_what_is_written_reads_back_the_same(tmp_path, forward, backward, memory):
    written = table(Entry((1, 4), forward, backward, memory))
    write_measurement(tmp_path / "m.json", written)
    assert read_measurement(tmp_path / "m.json").entries == written.entries


PIECES = [
    b"0",
    b"-1",
    b"1e999",
    b'"',
    b"{",
    b"[",
    b"]}",
    b"null",
    b"true",
    b"\xff",
    b"9" * 40,
    b"2-1-",
    b",",
    b"\\u0000",
]


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.integers(0, 400), st.integers(0, 30), st.sampled_from(PIECES) | st.binary(max_size=4)), max_size=4
    )
)
def test_mutated_files_are_read_or_refused(tmp_path, edits):
    data = orjson.dumps(DOCUMENT)
    for at, length, piece in edits:
        data = data[:at] + piece + data[at + length :]
    path = tmp_path / "m.json"
    path.write_bytes(data)
    try:
        found = read_measurement(path)
    except FlexNetError as error:
        assert "\n" not in str(error)
        return
    for entries in found.entries.values():
        for entry in entries:
            assert 0 <= entry.forward < 1e36
            assert 0 <= entry.backward < 1e36
            assert min(entry.degrees) >= 1
    write_measurement(tmp_path / "again.json", found)
    assert read_measurement(tmp_path / "again.json").entries == found.entries


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([*DOCUMENT, *RECORD]), json_values)
def test_any_value_in_any_field_is_read_or_refused(tmp_path, key, value):
    document = {**DOCUMENT, key: value} if key in DOCUMENT else changed(**{key: value})
    path = tmp_path / "m.json"
    path.write_bytes(orjson.dumps(document))
    try:
        read_measurement(path)
    except FlexNetError as error:
        assert str(error).isprintable()


SHAPE = {"name": "Dense_8_4@8x64>4x64;activation=0,weights=2", "pc_str": "2-1-4", "fw_time": 2, "bw_time": 3}
SHAPE |= {"mem_req": 64, "fw_spread": 0.01, "note": "more"}


def test_shapes_are_read_beside_the_names(save):
    table = read_measurement(save({**DOCUMENT, "shapes": [SHAPE]}))
    assert list(table.shapes) == [SHAPE["name"]]
    assert table.shapes[SHAPE["name"]][0].forward == 0.002
    assert "shapes" not in table.provenance
    assert read_measurement(save(DOCUMENT)).shapes == {}


@pytest.mark.parametrize(
    ("shapes", "match"),
    [
        ({}, "shapes is an object; it must be a list"),
        ([1], "shape 0 is 1; it must be an object"),
        ([{**SHAPE, "fw_time": -1}], r"shape 0 .*: fw_time is -1 ms; a time cannot be negative"),
    ],
)
def test_bad_shapes(save, shapes, match):
    fails(save({**DOCUMENT, "shapes": shapes}), match)


def test_shapes_are_written_with_their_details(tmp_path):
    entry = Entry((1, 4), 0.002, 0.003, 64)
    table = CostTable(64, 4, {"Dense_8_4": (entry,)}, False, "m.json", {}, {SHAPE["name"]: (entry,)})
    path = tmp_path / "m.json"
    write_measurement(path, table, details={(SHAPE["name"], (1, 4)): {"fw_spread": 0.01, "note": "more"}})
    document = orjson.loads(path.read_bytes())
    assert document["shapes"] == [SHAPE]
    (record,) = document["measurements"]
    assert record == {k: SHAPE[k] for k in ("pc_str", "fw_time", "bw_time", "mem_req")} | {"name": "Dense_8_4"}
    back = read_measurement(path)
    assert (back.entries, back.shapes) == (table.entries, table.shapes)


def test_a_file_for_servers_of_other_gpus_is_refused(save):
    for measured, asked in ((4, 4), (0, 1), (1, 0)):
        read_measurement(save({**DOCUMENT, "big_gpu": measured}), big_gpu=asked)
    read_measurement(save(DOCUMENT), big_gpu=4)  # the original does not say
    for measured, asked in ((0, 4), (4, 1)):
        path = save({**DOCUMENT, "big_gpu": measured})
        fails(path, rf"was measured with --big-gpu {measured}; --big-gpu is {asked}$", big_gpu=asked)
