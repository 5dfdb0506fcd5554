// RUN: qb-opt %s --convert-qb-to-stablehlo | filecheck %s

// CHECK-LABEL: func.func public @add(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf64>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<4xf64>
// CHECK: stablehlo.add %[[X]], %[[Y]] : tensor<4xf64>
func.func @add(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.add"(%x, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @sub(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf64>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<4xf64>
// CHECK: stablehlo.subtract %[[X]], %[[Y]] : tensor<4xf64>
func.func @sub(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.sub"(%x, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @mul(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf64>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<4xf64>
// CHECK: stablehlo.multiply %[[X]], %[[Y]] : tensor<4xf64>
func.func @mul(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.mul"(%x, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @div(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf64>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<4xf64>
// CHECK: stablehlo.divide %[[X]], %[[Y]] : tensor<4xf64>
func.func @div(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.div"(%x, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @maximum(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf64>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<4xf64>
// CHECK: stablehlo.maximum %[[X]], %[[Y]] : tensor<4xf64>
func.func @maximum(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.maximum"(%x, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @minimum(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf64>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<4xf64>
// CHECK: stablehlo.minimum %[[X]], %[[Y]] : tensor<4xf64>
func.func @minimum(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.minimum"(%x, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @pow(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf64>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<4xf64>
// CHECK: stablehlo.power %[[X]], %[[Y]] : tensor<4xf64>
func.func @pow(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.pow"(%x, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @atan2(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf64>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<4xf64>
// CHECK: stablehlo.atan2 %[[X]], %[[Y]] : tensor<4xf64>
func.func @atan2(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.atan2"(%x, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @fmod(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf64>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<4xf64>
// CHECK: stablehlo.remainder %[[X]], %[[Y]] : tensor<4xf64>
func.func @fmod(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.fmod"(%x, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @greater(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf64>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<4xf64>
// CHECK: %[[P:.*]] = stablehlo.compare GT, %[[X]], %[[Y]]
// CHECK: stablehlo.convert %[[P]] : (tensor<4xi1>) -> tensor<4xf64>
func.func @greater(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.greater"(%x, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @compare_equal(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf64>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<4xf64>
// CHECK: stablehlo.compare EQ, %[[X]], %[[Y]]
func.func @compare_equal(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xi1> {
  %0 = "qb.compare"(%x, %y) {kind = "equal"} : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func public @compare_not_equal(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf64>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<4xf64>
// CHECK: stablehlo.compare NE, %[[X]], %[[Y]]
func.func @compare_not_equal(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xi1> {
  %0 = "qb.compare"(%x, %y) {kind = "not_equal"} : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func public @compare_less(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf64>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<4xf64>
// CHECK: stablehlo.compare LT, %[[X]], %[[Y]]
func.func @compare_less(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xi1> {
  %0 = "qb.compare"(%x, %y) {kind = "less"} : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func public @compare_less_equal(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf64>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<4xf64>
// CHECK: stablehlo.compare LE, %[[X]], %[[Y]]
func.func @compare_less_equal(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xi1> {
  %0 = "qb.compare"(%x, %y) {kind = "less_equal"} : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func public @compare_greater(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf64>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<4xf64>
// CHECK: stablehlo.compare GT, %[[X]], %[[Y]]
func.func @compare_greater(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xi1> {
  %0 = "qb.compare"(%x, %y) {kind = "greater"} : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func public @compare_greater_equal(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf64>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<4xf64>
// CHECK: stablehlo.compare GE, %[[X]], %[[Y]]
func.func @compare_greater_equal(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xi1> {
  %0 = "qb.compare"(%x, %y) {kind = "greater_equal"} : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func public @where(
// CHECK: stablehlo.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xi1>, tensor<4xf64>
func.func @where(%m: tensor<4xi1>, %x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.where"(%m, %x, %y) : (tensor<4xi1>, tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// An operand of fewer axes is broadcast first.
// CHECK-LABEL: func.func public @broadcasting(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x3xf64>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<3xf64>
// CHECK: %[[B:.*]] = stablehlo.broadcast_in_dim %[[Y]], dims = [1] : (tensor<3xf64>) -> tensor<2x3xf64>
// CHECK: stablehlo.add %[[X]], %[[B]] : tensor<2x3xf64>
func.func @broadcasting(%x: tensor<2x3xf64>, %y: tensor<3xf64>) -> tensor<2x3xf64> {
  %0 = "qb.add"(%x, %y) : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}
