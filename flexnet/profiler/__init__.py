"""Measures operators with PyTorch: the only modules that import torch, and only when a profile is made."""
