// RUN: pkb-opt %s -split-input-file -verify-diagnostics --pkb-verify-comm

module @verify_comm_c2_plain attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main_0() attributes {comm.ranks = array<i64: 0, 1>} { return }
  // expected-error @below {{'func.func' op must have a body and the ranks that run it (attribute comm.ranks), as the others have}}
  func.func @main() { return }
}

// -----

module @verify_comm_c2_twice attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main_0() attributes {comm.ranks = array<i64: 0, 1>} { return }
  // expected-error @below {{'func.func' op must be for ranks that no other function has, got rank: 1}}
  func.func @main_1() attributes {comm.ranks = array<i64: 1>} { return }
}

// -----

module @verify_comm_c2_outside attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main_0() attributes {comm.ranks = array<i64: 0, 1>} { return }
  // expected-error @below {{'func.func' op must be for ranks of the mesh of 2, got rank: 2}}
  func.func @main_2() attributes {comm.ranks = array<i64: 2>} { return }
}

// -----

// expected-error @below {{'builtin.module' op must have a function for each rank, got none for rank 1}}
module @verify_comm_c2_missing attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main_0() attributes {comm.ranks = array<i64: 0>} { return }
}

// -----

module @verify_comm_c2_blocks attributes {comm.mesh = #comm.mesh<size = 1>} {
  // expected-error @below {{@main_0 must have one block, got: 2}}
  func.func @main_0() attributes {comm.ranks = array<i64: 0>} {
    return
  ^next:
    return
  }
}

// -----

module @verify_comm_c7_number attributes {comm.mesh = #comm.mesh<size = 1>} {
  func.func @main_0(%x: tensor<4xf32>) attributes {comm.ranks = array<i64: 0>} {
    // expected-error @below {{'comm.all_reduce' op must have a number (attribute comm.exchange) in a function that only some ranks run}}
    %0 = comm.all_reduce sum %x in <[[0]]> accumulate f32 deterministic : tensor<4xf32>
    return
  }
}

// -----

module @verify_comm_c7_kind attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main_0(%x: tensor<4xf32>) attributes {comm.ranks = array<i64: 0>} {
    // expected-note @below {{one of the others}}
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic {comm.exchange = 0 : i64} : tensor<4xf32>
    return
  }
  func.func @main_1(%x: tensor<4xf32>) attributes {comm.ranks = array<i64: 1>} {
    // expected-error @below {{'comm.all_reduce' op must be the same operation as the others of its number 0}}
    %0 = comm.all_reduce max %x in <[[0, 1]]> accumulate f32 deterministic {comm.exchange = 0 : i64} : tensor<4xf32>
    return
  }
}

// -----

module @verify_comm_c7_size attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main_0(%x: tensor<4xf32>) attributes {comm.ranks = array<i64: 0>} {
    // expected-note @below {{one of the others}}
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic {comm.exchange = 0 : i64} : tensor<4xf32>
    return
  }
  func.func @main_1(%x: tensor<5xf32>) attributes {comm.ranks = array<i64: 1>} {
    // expected-error @below {{'comm.all_reduce' op must be the same operation as the others of its number 0}}
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic {comm.exchange = 0 : i64} : tensor<5xf32>
    return
  }
}

// -----

module @verify_comm_c7_absent attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main_0(%x: tensor<4xf32>) attributes {comm.ranks = array<i64: 0>} {
    // expected-error @below {{'comm.all_reduce' op must also be in @main_1, since rank 1 is in its group}}
    %0 = comm.all_reduce sum %x in <[[0, 1]]> accumulate f32 deterministic {comm.exchange = 0 : i64} : tensor<4xf32>
    return
  }
  func.func @main_1() attributes {comm.ranks = array<i64: 1>} { return }
}

// -----

module @verify_comm_c7_member attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main_0(%x: tensor<4xf32>) attributes {comm.ranks = array<i64: 0, 1>} {
    // expected-error @below {{'comm.all_reduce' op must not be run by rank 1, which is not in its group}}
    %0 = comm.all_reduce sum %x in <[[0]]> accumulate f32 deterministic {comm.exchange = 0 : i64} : tensor<4xf32>
    return
  }
}

// -----

module @verify_comm_c7_twice attributes {comm.mesh = #comm.mesh<size = 1>} {
  func.func @main_0(%x: tensor<4xf32>) attributes {comm.ranks = array<i64: 0>} {
    %0 = comm.all_reduce sum %x in <[[0]]> accumulate f32 deterministic {comm.exchange = 0 : i64} : tensor<4xf32>
    // expected-error @below {{'comm.all_reduce' op must have a number of its own on rank 0, got: 0}}
    %1 = comm.all_reduce sum %x in <[[0]]> accumulate f32 deterministic {comm.exchange = 0 : i64} : tensor<4xf32>
    return
  }
}

// -----

module @verify_comm_c7_order attributes {comm.mesh = #comm.mesh<size = 2>} {
  func.func @main_0(%x: tensor<4xf32>) attributes {comm.ranks = array<i64: 0>} {
    // expected-error @below {{'comm.barrier' op is never met by all its ranks: they make their collectives in different orders}}
    comm.barrier in <[[0, 1]]> {comm.exchange = 0 : i64}
    comm.barrier in <[[0, 1]]> {comm.exchange = 1 : i64}
    return
  }
  func.func @main_1(%x: tensor<4xf32>) attributes {comm.ranks = array<i64: 1>} {
    comm.barrier in <[[0, 1]]> {comm.exchange = 1 : i64}
    comm.barrier in <[[0, 1]]> {comm.exchange = 0 : i64}
    return
  }
}
