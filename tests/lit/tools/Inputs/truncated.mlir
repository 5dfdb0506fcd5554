func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.sin"(%x) : (tensor<3xf64>) -> tensor<3xf64>
