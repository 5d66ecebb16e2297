// The HTTP client for setting up chat networks. What was typed in goes to the server and never comes back.
import { getJson, sendJson } from "@/api/http";

export interface NetworkField {
  name: string;
  label: string;
  where: string;
  is_secret: boolean;
  is_required: boolean;
  default: unknown;
}
export interface Network {
  name: string;
  summary: string;
  is_configured: boolean;
  fields: NetworkField[];
  can_sign_in: boolean;
  missing_packages: string[];
  receives_at: string;
  line: { state: string; health?: string; problem?: string } | string | null;
}
export interface Profile {
  name: string;
  address: string;
}
export interface Invitation {
  code: string;
  link: string;
  picture: string;
}
export interface SignInStep {
  id: string;
  text: string;
  picture: string;
  has_question: boolean;
  is_secret: boolean;
  is_done: boolean;
}
export type FieldValues = Record<string, string | number | boolean | string[]>;

const getUrl = (name: string, rest = "") => `/api/plugins/gateway/networks/${encodeURIComponent(name)}${rest}`;

export const networksApi = {
  list: (signal?: AbortSignal) => getJson<Network[]>("/api/plugins/gateway/networks", signal),
  install: (name: string) => sendJson<{ installed: string[] }>("POST", getUrl(name, "/packages")),
  add: (name: string, settings: FieldValues) =>
    sendJson<{ profile: Profile | null }>("PUT", getUrl(name), { settings }),
  remove: (name: string) => sendJson<void>("DELETE", getUrl(name)),
  invite: (name: string) => sendJson<Invitation>("POST", getUrl(name, "/invitation")),
  sendTest: (name: string) => sendJson<{ sent_to: string; receiver_problem: string }>("POST", getUrl(name, "/test")),
  beginSignIn: (name: string, settings: FieldValues) =>
    sendJson<SignInStep>("POST", getUrl(name, "/sign-in"), { settings }),
  advanceSignIn: (name: string, id: string, answer: string) =>
    sendJson<SignInStep>("POST", getUrl(name, `/sign-in/${encodeURIComponent(id)}`), { answer }),
};
