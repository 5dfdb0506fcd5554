// RUN: qb-opt %s --qb-vjp | filecheck %s

// Functions of a matrix that are written with eigenvalues and eigenvectors: values are the program's, derivatives those of
// the function. Nothing is divided by gaps where eigenvectors would be.

// A sum over the eigenvalues w has the gradient v diag(f'(w)) v^T.
// CHECK-LABEL: func.func @sum(
// CHECK: [[W:%.+]] = "qb.eigh_values"(%arg0)
// CHECK: [[E:%.+]] = "qb.exp"([[W]])
// CHECK: [[S:%.+]] = "qb.sum"([[E]])
// CHECK: [[V:%.+]] = "qb.eigh_vectors"(%arg0)
// CHECK-NOT: qb.ratio
// CHECK: return [[S]]
func.func @sum(%a: tensor<3x3xf64>) -> tensor<f64> {
  %w = "qb.eigh_values"(%a) : (tensor<3x3xf64>) -> tensor<3xf64>
  %e = "qb.exp"(%w) : (tensor<3xf64>) -> tensor<3xf64>
  %s = "qb.sum"(%e) {axis = array<i64: 0>} : (tensor<3xf64>) -> tensor<f64>
  return %s : tensor<f64>
}

// The directions in the basis of v are multiplied by divided differences: one for each pair of eigenvalues, of which six
// are different.
// CHECK-LABEL: func.func @product(
// CHECK: [[V:%.+]] = "qb.eigh_vectors"(%arg0)
// CHECK: [[W:%.+]] = "qb.eigh_values"(%arg0)
// CHECK: [[VT:%.+]] = "qb.transpose"([[V]])
// CHECK: [[F:%.+]] = "qb.matmul"({{%.+}}, [[VT]])
// CHECK-NOT: qb.ratio
// CHECK: "qb.gather_nd"({{%.+}}, {{%.+}}) {axes = array<i64: 0>, outside = "clamp"} : (tensor<6xf64>, tensor<9x1xi64>) -> tensor<9xf64>
// CHECK-NOT: qb.ratio
// CHECK: return [[F]]
func.func @product(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %v = "qb.eigh_vectors"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  %w = "qb.eigh_values"(%a) : (tensor<3x3xf64>) -> tensor<3xf64>
  %e = "qb.exp"(%w) : (tensor<3xf64>) -> tensor<3xf64>
  %s = "qb.mul"(%v, %e) : (tensor<3x3xf64>, tensor<3xf64>) -> tensor<3x3xf64>
  %t = "qb.transpose"(%v) {axes = array<i64: 1, 0>} : (tensor<3x3xf64>) -> tensor<3x3xf64>
  %r = "qb.matmul"(%s, %t) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
  return %r : tensor<3x3xf64>
}

// Rows that are scaled make no function of the matrix: the eigenvectors' own rule remains.
// CHECK-LABEL: func.func @rows(
// CHECK: qb.ratio
// CHECK: return
func.func @rows(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %v = "qb.eigh_vectors"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  %w = "qb.eigh_values"(%a) : (tensor<3x3xf64>) -> tensor<3xf64>
  %c = "qb.reshape"(%w) : (tensor<3xf64>) -> tensor<3x1xf64>
  %s = "qb.mul"(%v, %c) : (tensor<3x3xf64>, tensor<3x1xf64>) -> tensor<3x3xf64>
  %t = "qb.transpose"(%v) {axes = array<i64: 1, 0>} : (tensor<3x3xf64>) -> tensor<3x3xf64>
  %r = "qb.matmul"(%s, %t) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
  return %r : tensor<3x3xf64>
}
