"use strict";
// Renders /openapi.json. Everything from the document and from answers is set
// as text, never as markup.

const $ = (id) => document.getElementById(id);

function el(tag, props, ...children) {
  const node = Object.assign(document.createElement(tag), props);
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
}

let doc;

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

function example(schema, depth) {
  const s = resolve(schema);
  if (s.default !== undefined) return s.default;
  if (s.enum) return s.enum[0];
  if (s.oneOf) return example(s.oneOf[0], depth);
  const type = [].concat(s.type || "object")[0];
  if (type === "object") {
    const out = {};
    if (depth > 0) for (const [name, part] of Object.entries(s.properties || {})) {
      if ((s.required || []).includes(name)) out[name] = example(part, depth - 1);
    }
    return out;
  }
  if (type === "array") return [];
  if (type === "integer" || type === "number") return 0;
  if (type === "boolean") return false;
  return s.format === "uuid" ? crypto.randomUUID() : s.format === "date-time" ? new Date().toISOString() : "";
}

function members(schema) {
  const s = resolve(schema);
  if (!s.properties) return el("p", {}, el("code", { textContent: kindOf(schema) }));
  const table = el("table", {}, el("tr", {}, el("th", { textContent: "member" }), el("th", { textContent: "type" }), el("th", { textContent: "meaning" })));
  for (const [name, part] of Object.entries(s.properties)) {
    const required = (s.required || []).includes(name) ? "" : " (optional)";
    table.append(el("tr", {}, el("td", {}, el("code", { textContent: name })), el("td", { textContent: kindOf(part) + required }), el("td", { textContent: part.description || "" })));
  }
  return table;
}

function bodies(content) {
  return Object.entries(content || {}).map(([type, media]) =>
    el("div", {}, el("p", {}, el("code", { textContent: type })), media.schema ? members(media.schema) : null));
}

function tryIt(method, path, op) {
  const form = el("form", {});
  const inputs = [];
  for (const p of op.parameters || []) {
    const input = el("input", { name: p.name, required: !!p.required, autocomplete: "off" });
    inputs.push([p, input]);
    form.append(el("p", {}, el("label", {}, p.name + " (" + p.in + ", " + kindOf(p.schema || {}) + ") ", input), " ", p.description || ""));
  }
  let body = null;
  if (op.requestBody) {
    const schema = op.requestBody.content["application/json"].schema;
    body = el("textarea", { value: JSON.stringify(example(schema, 3), null, 2), spellcheck: false, ariaLabel: "Request body" });
    form.append(body);
  }
  const answer = el("pre", { hidden: true, tabIndex: 0 });
  form.append(el("button", { type: "submit", textContent: "Send" }), answer);
  form.addEventListener("submit", async (submitted) => {
    submitted.preventDefault();
    let url = path;
    const query = new URLSearchParams();
    for (const [p, input] of inputs) {
      if (p.in === "path") url = url.replace("{" + p.name + "}", encodeURIComponent(input.value));
      else if (p.in === "query" && input.value !== "") query.set(p.name, input.value);
    }
    const headers = {};
    if ($("token").value) headers.Authorization = "Bearer " + $("token").value;
    if (body && body.value.trim()) headers["Content-Type"] = "application/json";
    answer.hidden = false;
    answer.textContent = "…";
    try {
      const res = await fetch(url + (query.size ? "?" + query : ""), { method, headers, body: body && body.value.trim() ? body.value : undefined });
      const text = await res.text();
      let shown = text;
      try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* shown as it is */ }
      answer.textContent = res.status + " " + res.statusText + "\n\n" + shown;
    } catch (err) {
      answer.textContent = String(err);
    }
  });
  return form;
}

function operation(path, method, op) {
  const node = el("details", { id: op.operationId },
    el("summary", {}, el("span", { className: "method", textContent: method.toUpperCase() }), " ", el("code", { textContent: path }), " ", op.summary || ""));
  node.addEventListener("toggle", () => {
    if (!node.open || node.dataset.filled) return;
    node.dataset.filled = "yes";
    if (op.description) node.append(el("p", { textContent: op.description }));
    if (op.requestBody) node.append(el("h4", { textContent: "Body" }), ...bodies(op.requestBody.content));
    for (const [status, res] of Object.entries(op.responses || {})) {
      if (status < "300" || status === "503" && res.content && res.content["application/json"]) {
        node.append(el("h4", { textContent: status + " " + (res.description || "") }), ...bodies(res.content));
      }
    }
    const failures = Object.keys(op.responses || {}).filter((s) => s >= "400");
    if (failures.length) node.append(el("p", { textContent: "Problems: " + failures.join(", ") }));
    node.append(el("h4", { textContent: "Try it" }), tryIt(method.toUpperCase(), path, op));
  });
  return node;
}

async function main() {
  const out = $("operations");
  try {
    doc = await (await fetch("/openapi.json")).json();
  } catch (err) {
    out.replaceChildren(el("p", { textContent: "The document could not be read: " + err }));
    return;
  }
  $("title").textContent = doc.info.title + " API " + doc.info.version;
  $("about").textContent = doc.info.description || "";
  const groups = new Map();
  for (const [path, item] of Object.entries(doc.paths)) {
    for (const [method, op] of Object.entries(item)) {
      const tag = (op.tags || ["other"])[0];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push([path, method, op]);
    }
  }
  out.replaceChildren();
  for (const [tag, ops] of groups) {
    out.append(el("h2", { textContent: tag }));
    for (const [path, method, op] of ops) {
      const node = operation(path, method, op);
      out.append(node);
      const link = el("a", { href: "#" + op.operationId, textContent: method.toUpperCase() + " " + path });
      link.addEventListener("click", () => { node.open = true; });
      $("contents").append(link);
    }
  }
  out.append(el("h2", { textContent: "problem" }), members({ $ref: "#/components/schemas/Problem" }));
  const wanted = location.hash && document.getElementById(location.hash.slice(1));
  if (wanted) { wanted.open = true; wanted.scrollIntoView(); }
}

main();
