// A schedule without a compiler: every all-reduce runs on four blocks, chunk after chunk through a ring of slots, so that it leaves the other multiprocessors alone.
//
//   pkb-opt ar.pkb --pkb-pipeline='target=h200x4 script=docs/Examples/scripts/few-blocks.mlir' -o ar.cu
//
// The selection pass keeps a schedule that is there; the gates of the pipeline check it like any other.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @is_all_reduce(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["comm.all_reduce"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @set_schedule(%op: !transform.any_op {transform.readonly}) {
    %schedule = transform.param.constant #xfer.schedule<mechanism = ldst, blocks = 4, threads = 512, chunk = 16384, depth = 1, slots = 4, unroll = 1>
        -> !transform.any_param
    transform.annotate %op "xfer.schedule" = %schedule : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @__transform_main(%module: !transform.any_op) {
    transform.foreach_match in %module @is_all_reduce -> @set_schedule : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
