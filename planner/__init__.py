"""`sayu plan`: what a run is going to cost, before it runs. Needs no GPU and no engine, save to calibrate itself."""
