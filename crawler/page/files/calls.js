// What the page asks the server. The session is in a cookie that no script can read; the header below, which a form or
// a link of another site cannot send, says that it is the page that asks.
export class Refused extends Error {
  constructor(status, error) {
    super(error?.message || `the server answered ${status}`);
    this.status = status;
    this.code = error?.code || "unreachable";
  }
}

let onSignedOut = () => {};
let acting = ""; // of a key that is bound to several sessions: the one it reads as

export function actIn(session) {
  acting = session;
}

export function whenSignedOut(act) {
  onSignedOut = act;
}

async function ask(method, path, body, signal) {
  let response;
  try {
    response = await fetch(path, {
      method,
      signal,
      credentials: "same-origin",
      cache: "no-store",
      headers: {
        "X-Harvester-Page": "1",
        ...(acting ? { "X-Harvester-Session": acting } : {}),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, { message: "The server cannot be reached." });
  }
  const answer = response.status === 204 ? {} : await response.json().catch(() => ({}));
  if (response.ok) return answer;
  throw new Refused(response.status, answer);
}

export const currentSession = () => ask("GET", "/page/session");
export const signIn = (key) => ask("POST", "/page/session", { key });
export const signOut = () => ask("DELETE", "/page/session");

// A read tool. Arguments that say nothing are left out.
export async function tool(name, given, signal) {
  const said = Object.entries(given).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  try {
    return await ask("POST", `/page/tools/${name}`, Object.fromEntries(said), signal);
  } catch (error) {
    if (error.status === 401) onSignedOut(error);
    throw error;
  }
}
