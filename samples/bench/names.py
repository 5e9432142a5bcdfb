"""What each library calls what the formulas use."""
import math

import numpy as np


class Numpy:
    """In double precision, for the reference."""
    exp, tanh, sqrt, log = np.exp, np.tanh, np.sqrt, np.log
    sum, column_sum = staticmethod(np.sum), staticmethod(lambda x: np.sum(x, axis=0))
    row_max = staticmethod(lambda x: np.max(x, axis=-1, keepdims=True))
    row_sum = staticmethod(lambda x: np.sum(x, axis=-1, keepdims=True))
    row_mean = staticmethod(lambda x: np.mean(x, axis=-1, keepdims=True))
    sigmoid = staticmethod(lambda x: 1 / (1 + np.exp(-x)))
    wide = staticmethod(lambda x: x)
    like = staticmethod(lambda y, x: y)
    dense = staticmethod(lambda x: x)
    permute = staticmethod(lambda x, axes: np.transpose(x, axes))
    pick = staticmethod(lambda x, labels: x[np.arange(len(labels)), labels])
    take = staticmethod(lambda table, index: table[index])

    @classmethod
    def put(cls, x, index, rows):
        """What of x is put, and added up, at each of these rows."""
        return np.stack([cls.column_sum(x[np.flatnonzero(index == row)]) for row in rows])

    @staticmethod
    def erf(x):
        return np.vectorize(math.erf)(x)


class Magnitudes(Numpy):
    """Sums of magnitudes in place of sums: what a sum's rounding errors are relative to."""
    sum, column_sum = staticmethod(lambda x: np.sum(abs(x))), staticmethod(lambda x: np.sum(abs(x), axis=0))


def torch_names(torch):
    class Torch:
        exp, tanh, sqrt, log, erf, sigmoid = (torch.exp, torch.tanh, torch.sqrt, torch.log, torch.erf,
                                              torch.sigmoid)
        sum, column_sum = torch.sum, staticmethod(lambda x: x.sum(0))
        row_max = staticmethod(lambda x: x.amax(-1, keepdim=True))
        row_sum = staticmethod(lambda x: x.sum(-1, keepdim=True))
        row_mean = staticmethod(lambda x: x.mean(-1, keepdim=True))
        wide = staticmethod(lambda x: x.float())
        like = staticmethod(lambda y, x: y.to(x.dtype))
        dense = staticmethod(lambda x: x.contiguous())
        permute = staticmethod(lambda x, axes: x.permute(axes))
        pick = staticmethod(lambda x, labels: x.gather(-1, labels[:, None]).squeeze(-1))
        take = staticmethod(lambda table, index: torch.nn.functional.embedding(index, table))
        put = staticmethod(lambda x, index, rows: torch.ops.aten.embedding_dense_backward(x, index, rows, -1, False))

        @staticmethod
        def adamw_many(*tensors):
            """As torch.optim writes it, which torch.compile fuses across tensors."""
            f = torch
            parameters, gradients, firsts, seconds = (list(tensors[i::4]) for i in range(4))
            firsts = f._foreach_add(f._foreach_mul(firsts, 0.9), f._foreach_mul(gradients, 0.1))
            squares = f._foreach_mul(f._foreach_mul(gradients, 0.001), gradients)
            seconds = f._foreach_add(f._foreach_mul(seconds, 0.999), squares)
            below = f._foreach_add(f._foreach_sqrt(f._foreach_div(seconds, 0.001)), 1e-8)
            steps = f._foreach_div(f._foreach_div(firsts, 0.1), below)
            steps = f._foreach_add(steps, f._foreach_mul(parameters, 0.01))
            parameters = f._foreach_sub(parameters, f._foreach_mul(steps, 1e-3))
            return tuple(y for three in zip(parameters, firsts, seconds) for y in three)
    return Torch


def jax_names(jax):
    jnp = jax.numpy

    class Jax:
        exp, tanh, sqrt, log, erf, sigmoid = (jnp.exp, jnp.tanh, jnp.sqrt, jnp.log, jax.scipy.special.erf,
                                              jax.nn.sigmoid)
        sum, column_sum = jnp.sum, staticmethod(lambda x: x.sum(0))
        row_max = staticmethod(lambda x: x.max(-1, keepdims=True))
        row_sum = staticmethod(lambda x: x.sum(-1, keepdims=True))
        row_mean = staticmethod(lambda x: x.mean(-1, keepdims=True))
        wide = staticmethod(lambda x: x.astype(jnp.float32))
        like = staticmethod(lambda y, x: y.astype(x.dtype))
        dense = staticmethod(lambda x: x)
        permute = staticmethod(lambda x, axes: jnp.transpose(x, axes))
        pick = staticmethod(lambda x, labels: jnp.take_along_axis(x, labels[:, None], axis=-1)[:, 0])
        take = staticmethod(lambda table, index: jnp.take(table, index, axis=0))
        put = staticmethod(lambda x, index, rows: jnp.zeros((rows, x.shape[1]), x.dtype).at[index].add(x))
    return Jax


def cupy_names(cupy):
    class Cupy:
        exp, tanh, sqrt, log = cupy.exp, cupy.tanh, cupy.sqrt, cupy.log
        sum, column_sum = cupy.sum, staticmethod(lambda x: x.sum(axis=0))
        row_max = staticmethod(lambda x: x.max(axis=-1, keepdims=True))
        row_sum = staticmethod(lambda x: x.sum(axis=-1, keepdims=True))
        row_mean = staticmethod(lambda x: x.mean(axis=-1, keepdims=True))
        sigmoid = staticmethod(lambda x: 1.0 / (1.0 + cupy.exp(-x)))
        wide = staticmethod(lambda x: x)
        like = staticmethod(lambda y, x: y)
        dense = staticmethod(lambda x: cupy.ascontiguousarray(x))
        permute = staticmethod(lambda x, axes: cupy.transpose(x, axes))
        pick = staticmethod(lambda x, labels: cupy.take_along_axis(x, labels[:, None], axis=-1)[:, 0])
        take = staticmethod(lambda table, index: cupy.take(table, index, axis=0))

        @staticmethod
        def put(x, index, rows):
            sums = cupy.zeros((rows, x.shape[1]), x.dtype)
            cupy.add.at(sums, index, x)
            return sums

        @staticmethod
        def erf(x):
            from cupyx.scipy.special import erf
            return erf(x)
    return Cupy
