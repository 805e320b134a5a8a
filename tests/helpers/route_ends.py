"""Where the routes of a network lead."""


def routes_ends(network):
    """First and last server of every route; routes go along links that follow each other."""
    n = network.topology.n_server
    found = []
    for pair in range(n * n):
        links = network.route[network.route_ptr[pair] : network.route_ptr[pair + 1]]
        if not len(links):
            found.append(divmod(pair, n) if pair // n == pair % n else None)
            continue
        assert (network.link_to[links[:-1]] == network.link_from[links[1:]]).all()
        found.append((int(network.link_from[links[0]]), int(network.link_to[links[-1]])))
    return found
