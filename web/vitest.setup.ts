import fc from 'fast-check'

// The seed of all random tests, so that the same code always has the same result. make test-all draws it.
fc.configureGlobal({seed: Number(process.env.HOCKET_SEED ?? 1)})
