// RUN: qb-opt %s --qb-narrow | filecheck %s
// RUN: qb-opt %s --qb-narrow | qb-opt --verify-roundtrip | filecheck %s
// float64 becomes float32: arguments, constants and results. The counter of a loop stays float64 and is converted.

// CHECK-LABEL: func.func @line(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK-SAME: %[[B:.*]]: tensor<4xi1>
// CHECK: %[[C:.*]] = "qb.constant"() {{.*}}dense<1.000000e-01> : tensor<4xf32>
// CHECK: %[[P:.*]] = "qb.mul"(%[[X]], %[[C]]) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: %[[R:.*]] = "qb.where"(%[[B]], %[[P]], %[[X]])
// CHECK: return %[[R]] : tensor<4xf32>
func.func @line(%x: tensor<4xf64>, %b: tensor<4xi1>) -> tensor<4xf64> {
  %c = "qb.constant"() {value = dense<0.1> : tensor<4xf64>} : () -> tensor<4xf64>
  %0 = "qb.mul"(%x, %c) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %1 = "qb.where"(%b, %0, %x) : (tensor<4xi1>, tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %1 : tensor<4xf64>
}

// What converts between the two does nothing any more.
// CHECK-LABEL: func.func @cast(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK-NOT: qb.cast
// CHECK: return %[[X]] : tensor<4xf32>
func.func @cast(%x: tensor<4xf32>) -> tensor<4xf64> {
  %0 = "qb.cast"(%x) : (tensor<4xf32>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func @counter(
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[C:.*]] = %{{.*}}) -> (tensor<f32>)
// CHECK: %[[F:.*]] = "qb.index"(%[[I]]) : (index) -> tensor<f64>
// CHECK: %[[N:.*]] = "qb.cast"(%[[F]]) : (tensor<f64>) -> tensor<f32>
// CHECK: "qb.mul"(%[[C]], %[[N]]) : (tensor<f32>, tensor<f32>) -> tensor<f32>
func.func @counter(%x: tensor<f64>) -> tensor<f64> {
  %lower = arith.constant 0 : index
  %upper = arith.constant 3 : index
  %one = arith.constant 1 : index
  %0 = scf.for %iv = %lower to %upper step %one iter_args(%c = %x) -> (tensor<f64>) {
    %i = "qb.index"(%iv) : (index) -> tensor<f64>
    %1 = "qb.mul"(%c, %i) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    scf.yield %1 : tensor<f64>
  }
  return %0 : tensor<f64>
}
