import subprocess

import flatbuffers
import numpy as np
import pytest
from fbuf_samples import ROOT, SCHEMA, ringed, small_graph, star

from flexnet.taskgraph_file import _taskgraph_fb as fb
from flexnet.taskgraph_file.check import check_file
from flexnet.taskgraph_file.encode import encode
from flexnet.taskgraph_file.layout import TABLES
from flexnet.taskgraph_file.read import decode
from flexnet.taskgraph_file.write import taskgraph_file


def test_generated_code_is_what_flatc_makes(flatc, tmp_path):
    subprocess.run([flatc, "--python", "--gen-onefile", "-o", tmp_path, SCHEMA], check=True)
    made = (tmp_path / "taskgraph_generated.py").read_text()
    assert made == (ROOT / "flexnet" / "taskgraph_file" / "_taskgraph_fb.py").read_text()


def test_layout_lists_the_fields_of_the_schema():
    schema = SCHEMA.read_text()
    for table, fields in TABLES.items():
        body = schema.split(f"table {table} {{")[1].split("}")[0]
        lines = [line.split("//")[0].strip() for line in body.splitlines()]
        assert [line.split(":")[0] for line in lines if line] == [field.name for field in fields]


@pytest.mark.parametrize("network", [star(4), ringed(4)], ids=["star", "rings"])
def test_generated_code_reads_what_we_write(network):
    graph = small_graph()
    file, _ = taskgraph_file(
        graph, network, operators=[("Dense_100", 5), ("Ü", 23)], run_seconds=graph.seconds, inter_gpu_bandwidth=2e10
    )
    root = fb.TaskGraph.GetRootAs(encode(file).tobytes())
    assert (root.Ngpupernode(), root.Nnode(), root.Nswitch()) == (1, 4, network.topology.n_switch)
    assert (root.Intergpubw(), root.Drambw(), root.Netbw()) == (2e7, 33554432.0, 12.5e6)
    links = [root.Conn(i) for i in range(root.ConnLength())]
    assert [(c.Fromnode(), c.Tonode(), c.Nconn()) for c in links] == [tuple(row) for row in file.links.tolist()]
    assert [(root.Ops(i).Type(), root.Ops(i).Name()) for i in range(2)] == [(5, b"Dense_100"), (23, "Ü".encode())]
    tasks = [root.Tasks(i) for i in range(root.TasksLength())]
    assert [t.Type() for t in tasks] == file.tasks.kind.tolist()
    assert [t.Taskid() for t in tasks] == file.tasks.id.tolist()
    assert [t.Deviceid() for t in tasks] == file.tasks.device.tolist()
    assert [t.Runtime() for t in tasks] == file.tasks.run_ms.tolist()
    assert [t.Xfersize() for t in tasks] == file.tasks.bytes.tolist()
    for i, task in enumerate(tasks):
        assert [task.Nexttasks(j) for j in range(task.NexttasksLength())] == file.tasks.members(i).tolist()
        assert not task.NexttasksIsNone()
    devices = [root.Devices(i) for i in range(root.DevicesLength())]
    assert [d.Type() for d in devices] == file.devices.kind.tolist()
    assert [d.Nodeid() for d in devices] == file.devices.server.tolist()
    assert [d.Deviceproperty() for d in devices] == file.devices.property.tolist()
    routes = [root.Routes(i) for i in range(root.RoutesLength())]
    assert [(r.Fromnode(), r.Tonode()) for r in routes] == [(a, b) for a in range(4) for b in range(4)]
    assert [r.PathsLength() for r in routes] == [int(r.Fromnode() != r.Tonode()) for r in routes]
    hops = [r.Paths(0).HopnodeAsNumpy().tolist() for r in routes if r.PathsLength()]
    assert np.concatenate(hops).tolist() == file.routes.hop.tolist()
    assert root.RingsIsNone() == (network.topology.n_switch == 1)
    rings = {
        root.Rings(i).Ringsz(): [
            root.Rings(i).Ringpaths(j).JumpsAsNumpy().tolist() for j in range(root.Rings(i).RingpathsLength())
        ]
        for i in range(root.RingsLength())
    }
    assert rings == ({4: [[1], [3]], 2: [[1, 1]]} if root.RingsLength() else {})


def test_what_the_generated_code_writes_is_read():
    """Another writer: defaults left out, vtables shared or not, vectors before tables."""
    b = flatbuffers.Builder(0)
    b.StartVector(8, 1, 8)
    b.PrependUint64(2)
    after = b.EndVector()
    b.StartVector(8, 0, 8)
    nothing = b.EndVector()
    tasks = []
    for kind, number, successors in ((0, 1, after), (1, 2, nothing)):
        fb.TaskStart(b)
        fb.TaskAddType(b, kind)
        fb.TaskAddTaskid(b, number)
        fb.TaskAddDeviceid(b, 7)
        fb.TaskAddRuntime(b, 0.25)
        fb.TaskAddNexttasks(b, successors)
        tasks.append(fb.TaskEnd(b))
    fb.DeviceStart(b)
    fb.DeviceAddDeviceid(b, 7)
    devices = [fb.DeviceEnd(b)]
    vectors = []
    for tables in (tasks, devices):
        b.StartVector(4, len(tables), 4)
        for table in reversed(tables):
            b.PrependUOffsetTRelative(table)
        vectors.append(b.EndVector())
    fb.TaskGraphStart(b)
    fb.TaskGraphAddNgpupernode(b, 1)
    fb.TaskGraphAddNnode(b, 1)
    fb.TaskGraphAddTasks(b, vectors[0])
    fb.TaskGraphAddDevices(b, vectors[1])
    b.Finish(fb.TaskGraphEnd(b))
    file = decode(bytes(b.Output()), "builder")
    check_file(file)
    assert file.tasks.kind.tolist() == [0, 1]
    assert file.tasks.succ.tolist() == [2]
    assert file.tasks.run_ms.tolist() == [0.25, 0.25]
    assert file.rings is None
    assert len(file.links) == len(file.routes.source) == len(file.operators.name) == 0
