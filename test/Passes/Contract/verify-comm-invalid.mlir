// RUN: pkb-opt %s -split-input-file -verify-diagnostics --pkb-verify-comm

// expected-error @below {{module must have a mesh (attribute comm.mesh)}}
module @verify_comm_c1 {
  func.func @main() { return }
}

// -----

// expected-error @below {{module must have a function @main with a body}}
module @verify_comm_c2_absent attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @other() { return }
}

// -----

module @verify_comm_c2_blocks attributes {comm.mesh = #comm.mesh<size = 2>} {
  // expected-error @below {{@main must have one block, got: 2}}
  func.func @main() {
    return
  ^next:
    return
  }
}

// -----

// Every offender is reported.
module @verify_comm_c3 attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%n: index) {
    // expected-error @below {{'scf.for' op must not be at level L1}}
    scf.for %i = %n to %n step %n {
      // expected-error @below {{'scf.yield' op must not be at level L1}}
      scf.yield
    }
    return
  }
}

// -----

module @verify_comm_c4 attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%x: memref<4xf32>) {
    // expected-error @below {{'aten.call' op must work on values at level L1, got a memref}}
    aten.call "aten::f" (%x) args [] returns [] : (memref<4xf32>) -> ()
    return
  }
}

// -----

module @verify_comm_c5 attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main(%x: tensor<4xf32>) {
    // expected-error @below {{'comm.all_reduce' op group must be within the mesh of 2 ranks, got rank: 2}}
    %0 = comm.all_reduce sum %x in <[[0, 2]]> accumulate f32 : tensor<4xf32>
    // expected-error @below {{'comm.rank' op group must be within the mesh of 2 ranks, got rank: 5}}
    %1 = comm.rank in <[[5]]> : index
    return
  }
}

// -----

#lines = #xfer.schedule<mechanism = ll, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>
#copies = #xfer.schedule<mechanism = copy_engine, blocks = 1, threads = 32, chunk = 16, depth = 0, slots = 1, unroll = 1>
module @verify_comm_c8 attributes {comm.mesh = #comm.mesh<size = 2, link = nvlink>} {
  func.func @main(%x: tensor<4xf32>) {
    // expected-error @below {{'comm.broadcast' op must have a schedule with a mechanism that is legal for it, got: ll: some messages are empty, or some ranks send none}}
    %0 = comm.broadcast %x in <[[0, 1]]> from [0] {xfer.schedule = #lines} : tensor<4xf32>
    // expected-error @below {{'comm.all_reduce' op must have a schedule with a mechanism that is legal for it, got: copy_engine: the machine has no copy engines}}
    %1 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 {xfer.schedule = #copies} : tensor<4xf32>
    // The same schedule where it is legal.
    %2 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 {xfer.schedule = #lines} : tensor<4xf32>
    return
  }
}

// -----

module @verify_comm_c6 attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main() -> tensor<4xf32> {
    // expected-error @below {{'comm.absent' op must be used by operations of comm only, got: func.return}}
    %0 = comm.absent : tensor<4xf32>
    %1 = comm.scatter %0, %0 in <[[0, 1]]> from [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
