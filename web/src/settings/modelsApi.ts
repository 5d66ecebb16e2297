// The HTTP client for models: providers, their keys and models, a test, the default. A key is sent, and never comes back.
import { getJson, sendJson } from "@/api/http";

export interface Provider {
  name: string;
  label: string;
  base_url: string;
  needs_key: boolean;
  has_key: boolean;
  is_saved: boolean;
  is_default: boolean;
  missing_packages: string[];
}
export interface ProviderPage {
  providers: Provider[];
  default: { provider: string; model: string } | null;
}
export interface LocalServer {
  provider: string;
  label: string;
  base_url: string;
  models: string[];
}
export interface ModelTest {
  ok: boolean;
  model: string;
  text: string;
  seconds: number | null;
  cost_usd: number | null;
  detail: string;
  hint: string;
}

const MODELS_API = "/api/plugins/models";
const getProviderUrl = (name: string) => `${MODELS_API}/providers/${encodeURIComponent(name)}`;

export const modelsApi = {
  listProviders: (signal?: AbortSignal) => getJson<ProviderPage>(`${MODELS_API}/providers`, signal),
  findLocal: (signal?: AbortSignal) => getJson<LocalServer[]>(`${MODELS_API}/local`, signal),
  listModels: async (name: string, signal?: AbortSignal) =>
    (await getJson<{ models: string[] }>(`${getProviderUrl(name)}/models`, signal)).models,
  saveProvider: (name: string, body: { key?: string; base_url?: string }) =>
    sendJson<ProviderPage>("PUT", getProviderUrl(name), body),
  installPackages: (name: string) => sendJson<{ installed: string[] }>("POST", `${getProviderUrl(name)}/packages`),
  removeProvider: (name: string) => sendJson<ProviderPage>("DELETE", getProviderUrl(name)),
  testModel: (name: string, model: string) => sendJson<ModelTest>("POST", `${getProviderUrl(name)}/test`, { model }),
  setDefault: (provider: string, model: string) =>
    sendJson<ProviderPage>("PUT", `${MODELS_API}/default`, { provider, model }),
};
