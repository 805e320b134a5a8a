"""Finds how to cut a DNN over servers and how to wire and route between them, together."""
