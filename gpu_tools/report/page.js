"use strict";
(async () => {
  // Snakemake's report holds this page in an address, and browsers take no address above 2 MB: so
  // data and libraries are compressed.
  async function unpacked(id) {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(plain).text();
  }

  const data = JSON.parse(await unpacked("data"));
  document.body.append(Object.assign(document.createElement("script"), { textContent: await unpacked("bundle") }));
  const byId = (id) => document.getElementById(id);
  const sections = [...document.querySelectorAll("section")];
  const names = Object.keys(data.loci);
  const list = byId("loci") || byId("genes"); // of what a click on a row shows
  document.documentElement.classList.add("scripted");
  // within Snakemake's report, as an address or in its folder, links to files lead nowhere
  const alone = ["file:", "http:", "https:"].includes(location.protocol);
  if (!alone || location.pathname.includes("/data/raw/")) {
    document.documentElement.classList.add("detached");
  }

  function element(kind, properties = {}, ...children) {
    const made = Object.assign(document.createElement(kind), properties);
    made.append(...children);
    return made;
  }

  // Charts

  async function draw(place, specification, name) {
    const actions = { export: { svg: true, png: true }, source: false, compiled: false, editor: false };
    const options = { actions, renderer: "svg", downloadFileName: name, scaleFactor: { png: 2 } };
    const { view } = await vegaEmbed(place, specification, options);
    view.addEventListener("click", (event, item) => {
      const link = item && item.datum && item.datum.link;
      if (link) go(link);
    });
    // a figure shrinks with the window, as long as its texts can be read
    for (const svg of place.querySelectorAll("svg.marks")) {
      svg.style.minWidth = `${0.7 * svg.getAttribute("width")}px`;
    }
    place.dataset.drawn = "yes";
  }

  function modelOf(locus) {
    const found = structuredClone(data.templates[locus.template]);
    found.vconcat[0].height = locus.height;
    found.datasets = locus.datasets;
    return found;
  }

  // Tables

  const FORMS = { exponent: (v) => (v === 0 ? "0" : v < 0.01 ? v.toExponential(1) : v.toPrecision(2)) };

  function shown(value, column) {
    if (value === null) return "";
    if (!column.numeric) return String(value);
    if (column.decimals === null) return FORMS.exponent(value);
    const digits = { minimumFractionDigits: column.decimals, maximumFractionDigits: column.decimals };
    if (column.unit === "%") return (100 * value).toLocaleString("en", digits) + " %";
    return value.toLocaleString("en", digits);
  }

  function test(text, column) {
    const wanted = text.trim().toLowerCase();
    const comparison = column.numeric && wanted.match(/^(<=|>=|<|>|=)?\s*(-?[\d.,]+(?:e[-+]?\d+)?)\s*%?$/);
    if (comparison) {
      const number = parseFloat(comparison[2].replaceAll(",", "")) / (column.unit === "%" ? 100 : 1);
      const near = (v) => Math.abs(v - number) <= Math.abs(number) * 1e-9;
      const tests = {
        "<": (v) => v < number, ">": (v) => v > number, "<=": (v) => v <= number || near(v),
        ">=": (v) => v >= number || near(v), "=": near,
      };
      const holds = tests[comparison[1] || "="];
      return (v) => v !== null && holds(v);
    }
    if (wanted.startsWith("!")) {
      return (v) => !shown(v, column).toLowerCase().includes(wanted.slice(1));
    }
    return (v) => shown(v, column).toLowerCase().includes(wanted);
  }

  function compare(a, b) {
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1; // missing ones last
    return typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  }

  function classes(column) {
    return (column.numeric ? "number" : "") + (column.title.length > 18 ? " wide" : "");
  }

  class DataTable {
    constructor(place, table, file, size = 25) {
      const { columns, rows } = table;
      const kept = columns.map((_, k) => k)
        .filter((k) => !columns[k].optional || rows.some((row) => row[k] !== null));
      const of = (row) => kept.map((k) => row[k]);
      table = { ...table, columns: of(columns), rows: rows.map(of) };
      Object.assign(this, { place, table, file, size, page: 0, sorted: -1, rising: true });
      this.filters = table.columns.map(() => "");
      this.order = table.rows.map((_, k) => k);
      this.build();
      this.update();
    }

    build() {
      const { columns } = this.table;
      this.heads = columns.map((column, k) =>
        element("th", { className: classes(column), scope: "col" },
          element("button", { type: "button", textContent: column.title, onclick: () => this.sort(k) })));
      const inputs = columns.map((column, k) =>
        element("th", {}, element("input", {
          type: "search", ariaLabel: `filter ${column.title}`, oninput: (e) => this.filter(k, e.target.value) })));
      this.body = element("tbody");
      const head = element("thead", {}, element("tr", {}, ...this.heads));
      if (this.table.rows.length > 8) head.append(element("tr", {}, ...inputs));
      this.pager = element("div", { className: "pager" });
      this.place.replaceChildren(
        element("div", { className: "scroll" }, element("table", {}, head, this.body)), this.pager);
    }

    sort(k) {
      this.rising = this.sorted === k ? !this.rising : true;
      this.sorted = k;
      this.update();
    }

    filter(k, text) {
      this.filters[k] = text;
      this.page = 0;
      this.update();
    }

    chosen() {
      const { rows, columns } = this.table;
      const tests = this.filters.map((text, k) => text.trim() && [k, test(text, columns[k])]).filter(Boolean);
      const found = this.order.filter((k) => tests.every(([column, holds]) => holds(rows[k][column])));
      if (this.sorted < 0) return found;
      const at = this.sorted;
      const sign = this.rising ? 1 : -1;
      return found.sort((a, b) => {
        const [x, y] = [rows[a][at], rows[b][at]];
        const missing = x === null || y === null;
        return (missing ? compare(x, y) : sign * compare(x, y)) || a - b;
      });
    }

    update() {
      const found = this.chosen();
      const first = this.page * this.size;
      const part = found.slice(first, first + this.size);
      this.heads.forEach((head, k) => {
        if (k === this.sorted) head.ariaSort = this.rising ? "ascending" : "descending";
        else head.removeAttribute("aria-sort");
      });
      this.body.replaceChildren(...part.map((k) => this.row(k)));
      this.pager.replaceChildren(...this.controls(found, first, part.length));
    }

    row(k) {
      const cells = this.table.rows[k].map((value, c) => {
        const column = this.table.columns[c];
        const text = shown(value, column);
        const link = c === 0 && this.table.links[k];
        const cell = element("td", { className: column.numeric ? "number" : text.length > 40 ? "long" : "" });
        if (text.length > 40) {
          cell.title = "click to unfold";
          cell.onclick = () => cell.classList.toggle("open");
        }
        cell.append(link ? element("a", { href: "#" + encodeURI(link), textContent: text }) : text);
        return cell;
      });
      return element("tr", {}, ...cells);
    }

    controls(found, first, n) {
      const total = found.length;
      const turn = (by) => () => { this.page += by; this.update(); };
      const listed = this.table.rows.length;
      const more = this.table.total > listed ? ` (of ${this.table.total.toLocaleString("en")} in the results)` : "";
      const label = total ? `${first + 1}–${first + n} of ${total.toLocaleString("en")}${more}` : listed ? "no row fits" : "no rows";
      const buttons = total > this.size ? [
        element("button", { type: "button", textContent: "previous", disabled: !first, onclick: turn(-1) }),
        element("button", { type: "button", textContent: "next", disabled: first + n >= total, onclick: turn(1) }),
      ] : [];
      return [element("span", { textContent: label }), ...buttons, element("span", { className: "spacer" }),
        element("button", { type: "button", textContent: "save as TSV", onclick: () => this.save(found) })];
    }

    save(found) {
      const lines = [this.table.columns.map((column) => column.title),
        ...found.map((k) => this.table.rows[k].map((value) => (value === null ? "." : value)))];
      const text = lines.map((line) => line.join("\t") + "\n").join("");
      const address = URL.createObjectURL(new Blob([text], { type: "text/tab-separated-values" }));
      element("a", { href: address, download: `${this.file}.tsv` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    }
  }

  // Parts of the page

  const done = new Set();

  function fill(section) {
    if (done.has(section.id)) return;
    done.add(section.id);
    for (const place of section.querySelectorAll(".table")) {
      new DataTable(place, data.tables[place.dataset.table], place.dataset.file);
    }
    for (const image of section.querySelectorAll("img[data-picture]")) {
      const svg = new Blob([data.pictures[image.dataset.picture]], { type: "image/svg+xml" });
      image.src = URL.createObjectURL(svg);
    }
    for (const place of section.querySelectorAll(".chart")) {
      draw(place, data.charts[place.dataset.chart], place.dataset.chart);
    }
  }

  function showLocus(name) {
    const locus = data.loci[name];
    const at = names.indexOf(name);
    byId("locus-name").textContent = name;
    byId("locus-facts").textContent = locus.facts;
    byId("locus-choice").value = name;
    byId("before").disabled = at === 0;
    byId("next").disabled = at === names.length - 1;
    draw(byId("locus-chart"), modelOf(locus), name);
    const table = { columns: data.chain_columns, rows: locus.chains, links: [], total: locus.chains.length };
    new DataTable(byId("locus-table"), table, name);
  }

  function show(target) {
    const [part, ...rest] = target.split("/");
    const name = rest.join("/");
    let section = byId(part);
    if (!section || section.tagName !== "SECTION" || (part === "locus" && !data.loci[name])) {
      section = part === "locus" ? list : byId("overview");
    }
    sections.forEach((s) => s.classList.toggle("here", s === section));
    const shownAs = section.id === "locus" ? list.id : section.id;
    document.querySelectorAll("nav a").forEach((a) => {
      a.classList.toggle("here", a.getAttribute("href") === "#" + shownAs);
    });
    fill(section);
    if (section.id === "locus") showLocus(name);
    scrollTo(0, 0);
  }

  function go(target) {
    try {
      history.pushState(null, "", "#" + encodeURI(target));
    } catch {
      // a page within another one has no history of its own
    }
    show(target);
  }

  function partOfAddress() {
    try {
      return decodeURI(location.hash.slice(1)) || "overview";
    } catch {
      return "overview"; // no address that this page made
    }
  }

  byId("locus-choice").append(...names.map((name) => element("option", { value: name, textContent: name })));
  byId("locus-choice").onchange = (event) => go("locus/" + event.target.value);
  byId("before").onclick = () => go("locus/" + names[names.indexOf(byId("locus-choice").value) - 1]);
  byId("next").onclick = () => go("locus/" + names[names.indexOf(byId("locus-choice").value) + 1]);
  addEventListener("popstate", () => show(partOfAddress()));
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest("a[href^='#']");
    if (!link || link.closest(".vega-actions")) return;
    event.preventDefault();
    go(decodeURI(link.getAttribute("href").slice(1)));
  });
  show(partOfAddress());
  document.documentElement.dataset.ready = "yes";
})();
