// The HTTP client of the pages: adds the surface and the page key as headers, turns problem responses into ApiError.
import { getPageKeyHeader } from "@/api/pageKey";

interface Problem {
  code: string;
  detail: string;
  hint: string;
  status: number;
}

export class ApiError extends Error {
  readonly code: string;
  readonly hint: string;
  readonly status: number;

  constructor(problem: Problem) {
    super(problem.detail);
    this.code = problem.code;
    this.hint = problem.hint;
    this.status = problem.status;
  }
}

export const SIGNED_OUT_EVENT = "sojourn:signed-out";
export const UNREACHABLE: Problem = {
  code: "server_unreachable",
  detail: "The server is not responding.",
  hint: "Check that `sojourn dashboard` is still running.",
  status: 0,
};

export const buildHeaders = (own: Record<string, string> = {}): Record<string, string> => ({
  "Sojourn-Surface": "web",
  ...getPageKeyHeader(),
  ...own,
});

export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers: buildHeaders(init.headers as Record<string, string>) });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(UNREACHABLE);
  }
  if (response.ok) return response;
  throw await handleProblem(response);
}

/** The error that a refused answer means; a page that was signed out hears of it. */
export async function handleProblem(response: Response): Promise<ApiError> {
  if (response.status === 401) window.dispatchEvent(new Event(SIGNED_OUT_EVENT));
  return new ApiError(await parseProblem(response));
}

async function parseProblem(answer: Response): Promise<Problem> {
  try {
    const body = (await answer.json()) as Partial<Problem>;
    return {
      code: body.code ?? "unknown",
      detail: body.detail ?? answer.statusText,
      hint: body.hint ?? "",
      status: answer.status,
    };
  } catch {
    return { code: "unknown", detail: `${answer.status} ${answer.statusText}`, hint: "", status: answer.status };
  }
}

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answer = await request(path, signal ? { signal } : {});
  return (await answer.json()) as T;
}

export async function sendJson<T>(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<T> {
  const answer = await request(path, {
    method,
    headers: body === undefined ? headers : { "Content-Type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (answer.status === 204 ? undefined : await answer.json()) as T;
}

export const isAbortError = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";
