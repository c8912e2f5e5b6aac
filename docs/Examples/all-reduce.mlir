// The program of docs/Architecture.md at level L1: a tensor is summed over two ranks.
module attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%x: tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16> {
    %sum = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic : tensor<1024x1024xbf16>
    return %sum : tensor<1024x1024xbf16>
  }
}
