# RECAP Studio on port 7860, as a non-root user, for Docker and Hugging Face Spaces; docs/serving.md says how to run it.
#   docker build -t recap-studio .                             CPU, with the built-in model inside
#   docker build -t recap-studio --build-arg HARDWARE=gpu .    CUDA, for models from the hub
# The extensions are compiled in a stage of their own: the image that runs has no compiler.
# Layers from what changes seldom to what changes often: torch, packages, engine and built-in model, page.

ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir "setuptools>=77" wheel
WORKDIR /src
COPY pyproject.toml setup.py README.md LICENSE requirements.txt ./
COPY recap recap
RUN python setup.py build_ext --inplace

FROM python:${PYTHON}-slim
# cpu or gpu. On a Space, a variable of this name in its settings does the same as the build argument.
ARG HARDWARE=cpu
ARG TORCH=torch==2.13.0
ARG CPU_INDEX=https://download.pytorch.org/whl/cpu
# the CUDA build is what Linux gets by default; torchvision, in the version that fits, is for processors that need it
RUN if [ "$HARDWARE" = gpu ]; then pip install --no-cache-dir "$TORCH" torchvision; \
    else pip install --no-cache-dir --index-url "$CPU_INDEX" "$TORCH"; fi
COPY requirements.txt /tmp/requirements.txt
RUN pip install --no-cache-dir -r /tmp/requirements.txt && rm /tmp/requirements.txt

RUN useradd --create-home --uid 1000 studio
WORKDIR /home/studio/app
ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    GRADIO_SERVER_NAME=0.0.0.0 \
    GRADIO_SERVER_PORT=7860 \
    LOG_FORMAT=json
# root owns the program: whoever breaks into the app cannot change it. What it writes is in ~/.cache and /tmp.
COPY --from=build /src/recap recap
USER studio
RUN mkdir -p /home/studio/.cache && if [ "$HARDWARE" != gpu ]; then python -m recap.targets.builtin.assets; fi
COPY app.py LICENSE ./
COPY assets assets
COPY visual visual
COPY studio studio
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=5s --start-period=3m \
    CMD ["python", "-c", "import os, urllib.request as it; it.urlopen('http://127.0.0.1:%s/healthz' % os.environ['GRADIO_SERVER_PORT'], timeout=4)"]
CMD ["python", "app.py"]
