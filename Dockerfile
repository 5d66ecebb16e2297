# Sojourn as a container: built from this clone, run by a user who owns nothing but the home.
#
#   docker compose up -d                         # compose.yaml: the ports, the home, the histories (read-only)
#   docker compose exec sojourn sojourn token show
FROM python:3.13-slim-bookworm AS build
WORKDIR /src
COPY . .
# The wheel with the pages inside; Node comes from the Python registry where the image has none.
RUN python -m venv .venv-boot \
    && .venv-boot/bin/pip install --no-cache-dir --require-hashes -r requirements/boot.lock \
    && .venv-boot/bin/uv build --wheel --build-constraint requirements/boot.lock --out-dir /wheel .

FROM python:3.13-slim-bookworm
# Yours (`id -u`), so that it may read the histories that are mounted.
ARG UID=1000
# bubblewrap completes the sandbox, git is what agents work with.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap ca-certificates git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid "$UID" sojourn
COPY requirements/run.lock /tmp/requirements.lock
COPY --from=build /wheel /tmp/wheel
RUN pip install --no-cache-dir --require-hashes -r /tmp/requirements.lock \
    && pip install --no-cache-dir --no-deps /tmp/wheel/*.whl \
    && rm -r /tmp/wheel /tmp/requirements.lock
USER $UID
WORKDIR /home/sojourn
RUN mkdir --mode=700 /home/sojourn/.sojourn
VOLUME /home/sojourn/.sojourn
EXPOSE 8790
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8790/healthz', timeout=4)"]
# Inside the container all addresses are its own; compose.yaml publishes the port on the host's loopback alone.
CMD ["sojourn", "serve", "--host", "0.0.0.0", "--no-token"]
