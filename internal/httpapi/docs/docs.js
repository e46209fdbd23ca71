"use strict";
// Renders /openapi.json and sends requests from it. Everything from the document
// and from answers is set as text, never as markup.

const $ = (id) => document.getElementById(id);

function el(tag, props, ...children) {
  const node = Object.assign(document.createElement(tag), props);
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
}

const code = (text) => el("code", { textContent: text });

let doc;

// ---- schemas ----

function resolve(schema) {
  if (schema && schema.$ref) return doc.components.schemas[schema.$ref.split("/").pop()] || {};
  return schema || {};
}

function kindOf(schema) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.oneOf) return schema.oneOf.map(kindOf).join(" or ");
  const type = [].concat(schema.type || "any").join(" or ");
  if (schema.items) return "list of " + kindOf(schema.items);
  if (schema.enum) return schema.enum.join(" | ");
  return schema.format ? type + " (" + schema.format + ")" : type;
}

// made is a value that a schema allows: its required members, and no more.
function made(schema, depth) {
  const s = resolve(schema);
  if (s.default !== undefined) return s.default;
  if (s.enum) return s.enum[0];
  if (s.oneOf) return made(s.oneOf[0], depth);
  const type = [].concat(s.type || "object")[0];
  if (type === "object") {
    const out = {};
    if (depth > 0) for (const name of s.required || []) out[name] = made((s.properties || {})[name], depth - 1);
    return out;
  }
  if (type === "array") return [];
  if (type === "integer" || type === "number") return s.minimum || 0;
  if (type === "boolean") return false;
  return renewed(s) || "";
}

// newID is a UUID also where the page was not loaded securely, unlike
// crypto.randomUUID.
function newID() {
  const hex = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-a$4-$5");
}

const renewed = (schema) => schema.format === "uuid" ? newID() : schema.format === "date-time" ? new Date().toISOString() : null;

// example is what the document shows for a body. Ids and times that a body must
// have are made anew, so that what is sent twice is not a repeat.
function example(media) {
  if (media.example === undefined) return made(media.schema, 3);
  const schema = resolve(media.schema), out = { ...media.example };
  for (const name of schema.required || []) out[name] = renewed(resolve(schema.properties[name])) || out[name];
  return out;
}

function members(schema) {
  const s = resolve(schema);
  if (!s.properties) return el("p", {}, code(kindOf(schema)));
  const table = el("table", {}, el("tr", {}, ...["member", "type", "meaning"].map((name) => el("th", { textContent: name }))));
  for (const [name, part] of Object.entries(s.properties)) {
    const optional = (s.required || []).includes(name) ? "" : ", optional";
    table.append(el("tr", {}, el("td", {}, code(name)), el("td", { textContent: kindOf(part) + optional }), el("td", { textContent: part.description || "" })));
  }
  return el("div", { className: "table" }, table);
}

function bodies(content) {
  return Object.entries(content || {}).flatMap(([type, media]) =>
    [type === "application/json" ? null : el("p", {}, code(type)), media.schema ? members(media.schema) : null]).filter(Boolean);
}

// ---- trying it ----

const lastUsed = new Map(); // description of a path parameter → what was given for it last

function inputFor(p) {
  const schema = p.schema || {};
  const props = { name: p.name, required: !!p.required, autocomplete: "off", spellcheck: false };
  if (!schema.enum) return el("input", { ...props, placeholder: schema.default === undefined ? "" : String(schema.default) });
  return el("select", props, el("option", { value: "", textContent: "" }), ...schema.enum.map((word) => el("option", { value: word, textContent: word })));
}

const places = ["path", "query", "header"];

function fields(op, form) {
  const inOrder = [...(op.parameters || [])].sort((a, b) => places.indexOf(a.in) - places.indexOf(b.in));
  return inOrder.map((p) => {
    const input = inputFor(p);
    input.id = op.operationId + "." + p.name;
    form.append(el("div", { className: "field" },
      el("label", { htmlFor: input.id }, code(p.name), p.in === "query" ? "" : " (" + p.in + ")"), input,
      p.description ? el("span", { className: "quiet", textContent: p.description + (p.required ? ". Required" : "") }) : null));
    return [p, input];
  });
}

// requestOf is what the form says: path, query and headers.
function requestOf(path, inputs) {
  const query = new URLSearchParams(), headers = {};
  for (const [p, input] of inputs) {
    const value = input.value.trim();
    if (p.in === "path") {
      path = path.replace("{" + p.name + "}", encodeURIComponent(value));
      lastUsed.set(p.description, value);
    } else if (value !== "" && p.in === "query") query.set(p.name, value);
    else if (value !== "" && p.in === "header") headers[p.name] = value;
  }
  if ($("token").value) headers.Authorization = "Bearer " + $("token").value;
  return { url: path + (query.size ? "?" + query : ""), headers };
}

const quoted = (text) => "'" + text.replaceAll("'", "'\\''") + "'";

function asCurl(method, url, headers, body) {
  const parts = ["curl -sN", ...(method === "GET" ? [] : ["-X", method]), quoted(location.origin + url)];
  for (const [name, value] of Object.entries(headers)) parts.push("-H", name === "Authorization" ? '"Authorization: Bearer $TOKEN"' : quoted(name + ": " + value));
  if (body) {
    try { body = JSON.stringify(JSON.parse(body)); } catch { /* sent as it is */ }
    parts.push("-d", quoted(body));
  }
  return parts.join(" ");
}

const shownHeaders = ["ETag", "Location", "Retry-After", "Idempotent-Replayed"];

function headOf(res) {
  const lines = shownHeaders.filter((name) => res.headers.has(name)).map((name) => name + ": " + res.headers.get(name));
  return [res.status + " " + res.statusText, ...lines].join("\n") + "\n\n";
}

const mostShown = 200000; // characters of a stream: the newest stay

// readInto shows an answer: a stream as it comes, anything else when it is whole.
async function readInto(res, answer) {
  const head = headOf(res);
  if (!(res.headers.get("Content-Type") || "").startsWith("text/event-stream")) {
    let text = await res.text();
    try { text = JSON.stringify(JSON.parse(text), null, 2); } catch { /* shown as it is */ }
    answer.textContent = head + text;
    return;
  }
  const decoder = new TextDecoder(), reader = res.body.getReader();
  let text = "";
  answer.textContent = head;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    text = (text + decoder.decode(value, { stream: true })).slice(-mostShown);
    answer.textContent = head + text;
    answer.scrollTop = answer.scrollHeight;
  }
  answer.append("\n(The stream has ended.)");
}

function tryIt(method, path, op) {
  const form = el("form", {});
  const inputs = fields(op, form);
  for (const [p, input] of inputs) if (p.in === "path" && lastUsed.has(p.description)) input.value = lastUsed.get(p.description);
  let body = null;
  if (op.requestBody) {
    const text = JSON.stringify(example(op.requestBody.content["application/json"]), null, 2);
    body = el("textarea", { value: text, rows: Math.min(22, text.split("\n").length + 1), spellcheck: false, ariaLabel: "Request body" });
    form.append(body);
  }
  const send = el("button", { type: "submit", textContent: "Send" });
  const stop = el("button", { type: "button", textContent: "Stop", className: "second", hidden: true });
  const answer = el("pre", { hidden: true, tabIndex: 0, role: "status" });
  const curl = el("pre", {}), shell = el("details", { className: "quiet", hidden: true }, el("summary", { textContent: "The same with curl" }), curl);
  form.append(send, stop, answer, shell);
  form.addEventListener("submit", async (submitted) => {
    submitted.preventDefault();
    const { url, headers } = requestOf(path, inputs);
    const content = body ? body.value.trim() : "";
    if (content) headers["Content-Type"] = "application/json";
    const abort = new AbortController();
    stop.onclick = () => abort.abort();
    send.disabled = true;
    shell.hidden = answer.hidden = stop.hidden = false;
    curl.textContent = asCurl(method, url, headers, content);
    answer.textContent = "…";
    try {
      await readInto(await fetch(url, { method, headers, body: content || undefined, signal: abort.signal }), answer);
    } catch (err) {
      answer.append(abort.signal.aborted ? "\n(Stopped.)" : "\n" + err);
    } finally {
      send.disabled = false;
      stop.hidden = true;
    }
  });
  return form;
}

// ---- the page ----

function operation(path, method, op) {
  const node = el("details", { id: op.operationId },
    el("summary", {}, el("span", { className: "method " + method, textContent: method.toUpperCase() }), " ", code(path), el("span", { className: "says", textContent: op.summary || "" })));
  node.addEventListener("toggle", () => {
    if (!node.open || node.dataset.filled) return;
    node.dataset.filled = "yes";
    if (op.description) node.append(el("p", { className: "quiet", textContent: op.description }));
    node.append(el("h3", { textContent: "Try it" }), tryIt(method.toUpperCase(), path, op));
    if (op.requestBody) node.append(el("h3", { textContent: "Body" }), ...bodies(op.requestBody.content));
    for (const [status, res] of Object.entries(op.responses || {})) {
      if (status < "300" || status === "503" && res.content && res.content["application/json"]) {
        node.append(el("h3", { textContent: "Answer: " + status + " " + (res.description || "") }), ...bodies(res.content));
      }
    }
    const failures = Object.keys(op.responses || {}).filter((s) => s >= "400");
    if (failures.length) node.append(el("p", { className: "quiet" }, "Problems: " + failures.join(", ") + ". See ", el("a", { href: "#problem", textContent: "problem" }), "."));
  });
  return node;
}

// grouped is the operations by tag, in the order in which the document names its
// tags, by path in each.
function grouped() {
  const groups = new Map((doc.tags || []).map((tag) => [tag.name, { about: tag.description || "", ops: [] }]));
  for (const [path, item] of Object.entries(doc.paths)) {
    for (const [method, op] of Object.entries(item)) {
      const tag = (op.tags || ["other"])[0];
      if (!groups.has(tag)) groups.set(tag, { about: "", ops: [] });
      groups.get(tag).ops.push([path, method, op]);
    }
  }
  return groups;
}

function find(words) {
  for (const group of $("contents").children) {
    let any = false;
    for (const link of group.querySelectorAll("a")) {
      link.hidden = !link.dataset.text.includes(words.trim().toLowerCase());
      any = any || !link.hidden;
    }
    group.hidden = !any;
  }
}

// follow opens what the address names.
function follow() {
  const wanted = location.hash && $(decodeURIComponent(location.hash.slice(1)));
  if (!wanted) return;
  if (wanted.tagName === "DETAILS") wanted.open = true;
  wanted.scrollIntoView();
}

async function main() {
  const narrow = matchMedia("(max-width: 55rem)");
  $("menu").open = !narrow.matches;
  const out = $("operations");
  try {
    doc = await (await fetch("/openapi.json")).json();
  } catch (err) {
    out.replaceChildren(el("p", { textContent: "The document could not be read: " + err }));
    return;
  }
  $("version").textContent = "version " + doc.info.version;
  $("about").textContent = doc.info.description || "";
  out.replaceChildren();
  for (const [tag, { about, ops }] of grouped()) {
    const list = el("div", {}, el("h2", { textContent: tag }));
    $("contents").append(list);
    out.append(el("h2", { textContent: tag }), el("p", { className: "quiet", textContent: about }));
    for (const [path, method, op] of ops) {
      out.append(operation(path, method, op));
      const link = el("a", { href: "#" + op.operationId, title: method.toUpperCase() + " " + path, textContent: op.operationId.replaceAll("-", " ") });
      link.dataset.text = [link.textContent, link.title, op.summary].join(" ").toLowerCase();
      link.addEventListener("click", () => {
        if (narrow.matches) $("menu").open = false;
        $(op.operationId).open = true;
      });
      list.append(link);
    }
  }
  out.append(el("h2", { id: "problem", textContent: "problem" }), el("p", { className: "quiet", textContent: "What every error is, as application/problem+json (RFC 9457)." }), members({ $ref: "#/components/schemas/Problem" }));
  $("find").addEventListener("input", () => find($("find").value));
  addEventListener("hashchange", follow);
  follow();
}

main();
