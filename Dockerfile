# sayu with the GPU build of its engine (about 10 GB); see docker-compose.yml. `--build-arg DEVICE=cpu` makes a small one.
FROM python:3.12-slim

# vLLM compiles small kernels when it starts.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends build-essential git make \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /sayu
COPY . .
ARG DEVICE=gpu
RUN DEVICE=$DEVICE make setup
ENV PATH=/sayu/.venv/bin:$PATH
CMD ["sayu", "--help"]
