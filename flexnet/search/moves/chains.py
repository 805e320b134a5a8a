"""A model as chains: runs of operators without a fork or a join inside."""

from flexnet.model.graph import ModelGraph

__all__ = ["Chain", "chains_of"]

Chain = tuple[int, ...]


def chains_of(graph: ModelGraph) -> tuple[Chain, ...]:
    """The model as maximal chains: an operator follows in its producer's if that feeds it alone, and it reads no other.

    >>> from flexnet.model.builder import GraphBuilder
    >>> b = GraphBuilder("towers", batch_size=8)
    >>> towers = [b.dense(b.dense(b.input(16), 4), 4) for _ in range(2)]
    >>> _ = b.dense(b.concat(towers, axis=1), 2)
    >>> chains_of(b.build())
    ((0, 1), (2, 3), (4, 5))
    """
    consumers: list[set[int]] = [set() for _ in graph.operators]
    for op in graph.operators:
        for source in op.inputs:
            if source.op is not None:
                consumers[source.op].add(op.index)
    chain_of: dict[int, list[int]] = {}
    chains = []
    for op in graph.operators:
        producers = {source.op for source in op.inputs if source.op is not None}
        before = next(iter(producers)) if len(producers) == 1 else None
        if before is not None and len(consumers[before]) == 1:
            chain = chain_of[before]
        else:
            chain = []
            chains.append(chain)
        chain.append(op.index)
        chain_of[op.index] = chain
    return tuple(map(tuple, chains))
