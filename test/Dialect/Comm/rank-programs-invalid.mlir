// RUN: pkb-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{attribute comm.ranks must be on a function, got: builtin.module}}
module attributes {comm.ranks = array<i64: 0>} {}

// -----

// expected-error @below {{attribute comm.ranks must be an array of i64, ascending, got: array<i64: 1, 0>}}
func.func @descending() attributes {comm.ranks = array<i64: 1, 0>} { return }

// -----

// expected-error @below {{attribute comm.ranks must be an array of i64, ascending, got: array<i64: 1, 1>}}
func.func @twice() attributes {comm.ranks = array<i64: 1, 1>} { return }

// -----

// expected-error @below {{attribute comm.ranks must be an array of i64, ascending, got: array<i64>}}
func.func @empty() attributes {comm.ranks = array<i64>} { return }

// -----

// expected-error @below {{attribute comm.ranks must be an array of i64, ascending, got: 0 : i64}}
func.func @number() attributes {comm.ranks = 0 : i64} { return }

// -----

// expected-error @below {{attribute comm.exchange must be on a collective, got: func.func}}
func.func @exchange() attributes {comm.exchange = 0 : i64} { return }

// -----

func.func @negative() {
  // expected-error @below {{attribute comm.exchange must be an i64 that is not negative, got: -1 : i64}}
  comm.barrier in <[[0]]> {comm.exchange = -1 : i64}
  return
}

// -----

// expected-error @below {{attribute comm.difference must be a string on a function, got: 3 : i64}}
func.func @difference() attributes {comm.difference = 3 : i64} { return }
