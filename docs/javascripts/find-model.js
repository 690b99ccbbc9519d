// A field above the table of models: type the name of a model, and only its row stays.
"use strict";

// As Toolwire looks at names: case, hyphens and underscores do not matter.
const plain = (text) => text.toLowerCase().replace(/[-_\s]/g, "");

// How much of a model's name is one of a row's names; an ellipsis stands for any text.
function fit(model, name) {
  let from = 0;
  for (const part of name.split("…")) {
    const at = model.indexOf(part, from);
    if (at < 0) return 0;
    from = at + part.length;
  }
  return name.length;
}

function addField(table) {
  const rows = [...table.tBodies[0].rows].map((row) => ({
    row,
    names: [...row.cells[0].querySelectorAll("code")].map((code) => plain(code.textContent)),
    text: plain(row.textContent),
  }));
  const label = document.createElement("label");
  const field = document.createElement("input");
  const said = document.createElement("p");
  label.append("Find your model ", field);
  field.type = "search";
  field.placeholder = "Qwen/Qwen3-8B";
  field.className = "md-input";
  said.setAttribute("role", "status");
  field.addEventListener("input", () => {
    const model = plain(field.value);
    const fits = rows.map(({ names }) => Math.max(...names.map((name) => fit(model, name)), 0));
    const best = Math.max(...fits);
    let shown = 0;
    rows.forEach(({ row, text }, i) => {
      row.hidden = best ? fits[i] !== best : !text.includes(model);
      shown += !row.hidden;
    });
    said.textContent = !model || shown ? "" : "No name in the table is a part of this one.";
  });
  const place = table.closest(".md-typeset__scrollwrap") ?? table;
  place.before(label, said);
}

document.querySelectorAll("article table").forEach((table) => {
  if (table.tHead?.rows[0].cells[0].textContent === "names that contain") addField(table);
});
