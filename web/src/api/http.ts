// Every request of the pages goes through here: one place for who we are and for what went wrong.

export interface Problem {
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

export const SIGNED_OUT = "sojourn:signed-out";
const SURFACE = { "Sojourn-Surface": "web" };

export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path, { ...init, headers: { ...SURFACE, ...init.headers } });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError({
      code: "server_unreachable",
      detail: "The server does not answer.",
      hint: "Is `sojourn dashboard` still running?",
      status: 0,
    });
  }
  if (answer.ok) return answer;
  const problem = await told(answer);
  if (answer.status === 401) window.dispatchEvent(new Event(SIGNED_OUT));
  throw new ApiError(problem);
}

async function told(answer: Response): Promise<Problem> {
  try {
    const said = (await answer.json()) as Partial<Problem>;
    return { code: said.code ?? "unknown", detail: said.detail ?? answer.statusText, hint: said.hint ?? "", status: answer.status };
  } catch {
    return { code: "unknown", detail: `${answer.status} ${answer.statusText}`, hint: "", status: answer.status };
  }
}

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answer = await request(path, signal ? { signal } : {});
  return (await answer.json()) as T;
}

export async function sendJson<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
  const answer = await request(path, {
    method,
    headers: body === undefined ? headers : { "Content-Type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (answer.status === 204 ? undefined : await answer.json()) as T;
}

export const wasAborted = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";
