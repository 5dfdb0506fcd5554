// RUN: qb-opt %s --emit=mlx | filecheck %s
// Loops and choices: what is short is written out, all else is run by Python.

// A short loop is part of one program.
// CHECK: @mx.compile
// CHECK-NEXT: def short(arg0):
// CHECK: for [[I:v[0-9]+]] in range(0, 3):
// CHECK-NEXT: [[P:v[0-9]+]] = v1 * 2.0
// CHECK-NEXT: v1 = [[P]]
// CHECK-NOT: mx.eval
// CHECK: return
func.func @short(%x: tensor<4xf32>) -> tensor<4xf32> {
  %lower = arith.constant 0 : index
  %upper = arith.constant 3 : index
  %one = arith.constant 1 : index
  %two = "qb.constant"() {value = dense<2.0> : tensor<4xf32>} : () -> tensor<4xf32>
  %0 = scf.for %iv = %lower to %upper step %one iter_args(%c = %x) -> (tensor<4xf32>) {
    %1 = "qb.mul"(%c, %two) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// The body of a long one is compiled, and its carries are evaluated now and then.
// CHECK: @mx.compile
// CHECK-NEXT: def _body(a0, a1):
// CHECK-NEXT:     v0 = a0 * a1
// CHECK-NEXT:     return v0
// CHECK-NOT: @mx.compile
// CHECK: def long(arg0, arg1):
// CHECK: for [[I:v[0-9]+]] in range(0, 1000):
// CHECK-NEXT: [[C:v[0-9]+]] = _body([[C]], arg1)
// CHECK-NEXT: if [[I]] % 100 == 99:
// CHECK-NEXT: mx.eval([[C]])
func.func @long(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %lower = arith.constant 0 : index
  %upper = arith.constant 1000 : index
  %one = arith.constant 1 : index
  %0 = scf.for %iv = %lower to %upper step %one iter_args(%c = %x) -> (tensor<4xf32>) {
    %1 = "qb.mul"(%c, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// A test that depends on the carries is read in each iteration.
// CHECK: def waiting(arg0):
// CHECK: while True:
// CHECK: [[S:v[0-9]+]] = mx.sum(
// CHECK-NEXT: [[G:v[0-9]+]] = [[S]] < 9.0
// CHECK-NEXT: if not [[G]].item():
// CHECK-NEXT: break
// CHECK-NEXT: [[C:v[0-9]+]] = _body_1([[C]])
// CHECK-NEXT: mx.eval([[C]])
func.func @waiting(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = scf.while (%c = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %limit = "qb.constant"() {value = dense<9.0> : tensor<f32>} : () -> tensor<f32>
    %s = "qb.sum"(%c) {axis = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    %g = "qb.compare"(%s, %limit) {kind = "less"} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b = tensor.extract %g[] : tensor<i1>
    scf.condition(%b) %c : tensor<4xf32>
  } do {
  ^bb0(%c: tensor<4xf32>):
    %1 = "qb.add"(%c, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// A choice reads its predicate once.
// CHECK: def chosen(arg0, arg1):
// CHECK-NEXT: if arg0.item():
// CHECK-NEXT: [[A:v[0-9]+]] = mx.exp(arg1)
// CHECK-NEXT: [[R:v[0-9]+]] = [[A]]
// CHECK-NEXT: else:
// CHECK-NEXT: [[B:v[0-9]+]] = -arg1
// CHECK-NEXT: [[R]] = [[B]]
// CHECK-NEXT: return ([[R]],)
func.func @chosen(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %b = tensor.extract %p[] : tensor<i1>
  %0 = scf.if %b -> (tensor<4xf32>) {
    %1 = "qb.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } else {
    %1 = "qb.neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// Rows at the counter.
// CHECK: def rows(arg0):
// CHECK: for [[I:v[0-9]+]] in range(0, 4):
// CHECK-NEXT: [[N:v[0-9]+]] = mx.array([[I]], mx.int64)
// CHECK-NEXT: helpers.dynamic_slice(arg0, [[[N]]], (0,), (1, 3))
// CHECK: helpers.dynamic_update_slice({{v[0-9]+}}, {{v[0-9]+}}, [{{v[0-9]+}}], (0,))
func.func @rows(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %lower = arith.constant 0 : index
  %upper = arith.constant 4 : index
  %one = arith.constant 1 : index
  %0 = scf.for %iv = %lower to %upper step %one iter_args(%c = %x) -> (tensor<4x3xf32>) {
    %i = "qb.index"(%iv) : (index) -> tensor<f64>
    %1 = "qb.take"(%x, %i) {axis = 0 : i64} : (tensor<4x3xf32>, tensor<f64>) -> tensor<3xf32>
    %2 = "qb.constant"() {value = dense<3.0> : tensor<f64>} : () -> tensor<f64>
    %3 = "qb.sub"(%2, %i) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %4 = "qb.put"(%c, %1, %3) {axis = 0 : i64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<f64>) -> tensor<4x3xf32>
    scf.yield %4 : tensor<4x3xf32>
  }
  return %0 : tensor<4x3xf32>
}
