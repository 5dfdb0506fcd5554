// RUN: qb-opt %s --qb-vmap=size=4 | filecheck %s

// An elementwise op maps to itself on the larger arrays.

// CHECK-LABEL: func.func @add(
// CHECK: [[R:%.+]] = "qb.add"(%arg0, %arg1) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @add(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.add"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @sub(
// CHECK: [[R:%.+]] = "qb.sub"(%arg0, %arg1) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @sub(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.sub"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @mul(
// CHECK: [[R:%.+]] = "qb.mul"(%arg0, %arg1) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @mul(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.mul"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @div(
// CHECK: [[R:%.+]] = "qb.div"(%arg0, %arg1) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @div(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.div"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @pow(
// CHECK: [[R:%.+]] = "qb.pow"(%arg0, %arg1) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @pow(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.pow"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @atan2(
// CHECK: [[R:%.+]] = "qb.atan2"(%arg0, %arg1) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @atan2(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.atan2"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @direction(
// CHECK: [[R:%.+]] = "qb.direction"(%arg0, %arg1) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @direction(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.direction"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @hypot(
// CHECK: [[R:%.+]] = "qb.hypot"(%arg0, %arg1) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @hypot(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.hypot"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @maximum(
// CHECK: [[R:%.+]] = "qb.maximum"(%arg0, %arg1) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @maximum(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.maximum"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @minimum(
// CHECK: [[R:%.+]] = "qb.minimum"(%arg0, %arg1) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @minimum(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.minimum"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @fmod(
// CHECK: [[R:%.+]] = "qb.fmod"(%arg0, %arg1) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @fmod(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.fmod"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @greater(
// CHECK: [[R:%.+]] = "qb.greater"(%arg0, %arg1) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @greater(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.greater"(%x, %y) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @compare(
// CHECK: [[R:%.+]] = "qb.compare"(%arg0, %arg1) {kind = "less"} : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xi1>
// CHECK: return [[R]]
func.func @compare(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xi1> {
  %0 = "qb.compare"(%x, %y) {kind = "less"} : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xi1>
  return %0 : tensor<3xi1>
}

// CHECK-LABEL: func.func @where(
// CHECK: [[R:%.+]] = "qb.where"(%arg0, %arg1, %arg2) : (tensor<4x3xi1>, tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @where(%x: tensor<3xi1>, %y: tensor<3xf64>, %z: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.where"(%x, %y, %z) : (tensor<3xi1>, tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// The mapped axis comes first, so operands of a lower rank get axes after it.
// CHECK-LABEL: func.func @broadcast(
// CHECK: [[A:%.+]] = "qb.reshape"(%arg1) : (tensor<4x3xf64>) -> tensor<4x1x3xf64>
// CHECK: [[R:%.+]] = "qb.mul"(%arg0, [[A]]) : (tensor<4x2x3xf64>, tensor<4x1x3xf64>) -> tensor<4x2x3xf64>
// CHECK: return [[R]]
func.func @broadcast(%x: tensor<2x3xf64>, %y: tensor<3xf64>) -> tensor<2x3xf64> {
  %0 = "qb.mul"(%x, %y) : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}
