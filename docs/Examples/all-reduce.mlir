// The program of docs/Architecture.md as it is imported: a function that clones its argument and sums the clone over two ranks.
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%x: tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16> {
    %copy = aten.call "aten::clone"(%x) args [#aten.operand<0>] returns [#aten.result<0>] : (tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
    %sum = comm.all_reduce sum %copy in <[[0, 1]]> accumulate f32 deterministic : tensor<1024x1024xbf16>
    return %sum : tensor<1024x1024xbf16>
  }
}
