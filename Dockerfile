# RECAP Studio on port 7860, as a non-root user, for Docker and Hugging Face Spaces.
# The extension is compiled in a stage of its own: the image that runs has no compiler.

FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY pyproject.toml setup.py README.md LICENSE requirements.txt ./
COPY recap recap
COPY visual visual
RUN pip install --no-cache-dir "setuptools>=77" wheel && python setup.py build_ext --inplace

FROM python:3.12-slim
RUN useradd --create-home --uid 1000 studio
ENV PATH=/home/studio/.local/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    GRADIO_SERVER_NAME=0.0.0.0 \
    GRADIO_SERVER_PORT=7860 \
    GRADIO_ANALYTICS_ENABLED=False
USER studio
WORKDIR /home/studio/app
# TORCH may name any build that suits the hardware, for instance one from an index given with --build-arg PIP_EXTRA_INDEX_URL
ARG TORCH=torch==2.13.0
ARG PIP_EXTRA_INDEX_URL=
RUN pip install --no-cache-dir --user "$TORCH"
COPY --chown=studio requirements.txt .
RUN pip install --no-cache-dir --user -r requirements.txt
COPY --chown=studio --from=build /src/recap recap
RUN python -m recap.targets.builtin.assets
COPY --chown=studio . .
COPY --chown=studio --from=build /src/recap recap
EXPOSE 7860
CMD ["python", "app.py"]
