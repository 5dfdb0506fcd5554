// RUN: qb-opt %s --emit=mlx | filecheck %s
// Factorizations are calls of a library on the CPU stream.

// CHECK: from quabla.lowering.mlx import linalg

// CHECK: def factors(arg0, arg1):
// CHECK-NEXT: linalg.cholesky(arg0)
// CHECK-NEXT: linalg.solve_triangular(arg0, arg1, lower=True, transpose=False)
// CHECK-NEXT: linalg.solve(arg0, arg1)
// CHECK-NEXT: linalg.eigh_values(arg0)
func.func @factors(%a: tensor<3x3xf32>, %b: tensor<3x2xf32>) -> (tensor<3x3xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<3xf32>) {
  %0 = "qb.cholesky"(%a) : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %1 = "qb.solve_triangular"(%a, %b) {lower = true, transpose = false} : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %2 = "qb.solve"(%a, %b) : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %3 = "qb.eigh_values"(%a) : (tensor<3x3xf32>) -> tensor<3xf32>
  return %0, %1, %2, %3 : tensor<3x3xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<3xf32>
}
