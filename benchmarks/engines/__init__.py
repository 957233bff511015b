"""The engines that are compared, one module each, with `execute(run) -> tuple[Batch, ...]`.

Each reads `in/*.parquet` of the run's directory in micro-batches of `batch_files` files and writes to `out` the columns
`k, window_id, window_start, window_end, m`, m being the aggregate.
"""
