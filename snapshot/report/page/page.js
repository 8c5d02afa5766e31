// Draws the report from the JSON beside it. Text from the snapshot is inserted as text,
// never as markup.
"use strict";
(() => {
  const page = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);

  // ---- words

  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const size = (bytes) => {
    let unit = 0;
    for (; bytes >= 1024 && unit < units.length - 1; unit++) bytes /= 1024;
    const digits = unit === 0 ? 0 : bytes >= 100 ? 0 : bytes >= 10 ? 1 : 2;
    return bytes.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }) + " " + units[unit];
  };
  const exactly = (bytes) => element("span", { title: count(bytes) + " bytes" }, size(bytes));
  const signed = (bytes) => (bytes > 0 ? "+" + size(bytes) : bytes < 0 ? "\u2212" + size(-bytes) : "0");
  // Round sizes for an axis, three to six of them.
  const sizesUpTo = (most) => {
    let step = Math.pow(2, Math.max(0, Math.floor(Math.log2(most / 4))));
    while (most / step > 6) step *= 2;
    const all = [];
    for (let bytes = 0; bytes <= most; bytes += step) all.push(bytes);
    return all;
  };
  const count = (n) => n.toLocaleString("en");
  const percent = (share) => (share > 0 && share < 0.005 ? "<1" : Math.round(100 * share)) + "\u00a0%";
  const of = (part, whole) => (whole > 0 ? part / whole : 0);
  const counted = (n, one, many) => count(n) + " " + (n === 1 ? one : many);
  const time = (micros) => {
    if (micros >= 120e6) return (micros / 60e6).toFixed(1) + " min";
    return micros >= 1e6 ? (micros / 1e6).toFixed(2) + " s" : (micros / 1e3).toFixed(1) + " ms";
  };

  // ---- elements

  const element = (tag, options, ...children) => {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(options || {})) {
      if (name === "style") for (const [key, v] of Object.entries(value)) e.style.setProperty(key, v);
      else if (name === "on") for (const [event, f] of Object.entries(value)) e.addEventListener(event, f);
      else if (value !== undefined && value !== false) e.setAttribute(name, value === true ? "" : value);
    }
    e.append(...children.filter((c) => c !== undefined && c !== null && c !== false && c !== ""));
    return e;
  };
  const soft = (text) => element("span", { class: "soft" }, text);
  const chip = (color) => element("span", { class: "chip", style: { "--mark": color }, "aria-hidden": "true" });
  const meter = (...parts) => element("span", { class: "meter", "aria-hidden": "true" },
    ...parts.map(([share, mark, kind]) => element("i", { class: kind, style: { width: 100 * Math.max(0, Math.min(1, share)) + "%", "--mark": mark } })));
  const legend = (id, marks) =>
    byId(id).append(...marks.map(([name, color]) => element("span", { style: { "--mark": color } }, name)));

  // A table: the heads are [name, kind], a row is a list of contents, or {cells, options}. On
  // a narrow screen each cell has its head beside it.
  const table = (label, heads, rows) => {
    const body = rows.map((row) => {
      const { cells, options } = Array.isArray(row) ? { cells: row, options: {} } : row;
      return element("tr", options, ...cells.map((content, i) =>
        element("td", { class: heads[i][1], "data-label": heads[i][0] }, element("div", {}, ...(Array.isArray(content) ? content : [content])))));
    });
    if (!body.length) body.push(element("tr", {}, element("td", { colspan: heads.length, class: "soft" }, "There is none.")));
    return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, element("table", {},
      element("thead", {}, element("tr", {}, ...heads.map(([name, kind]) => element("th", { scope: "col", class: kind }, name)))),
      element("tbody", {}, ...body)));
  };
  // A table with the first rows, and a button for the others.
  const longTable = (label, heads, rows, shown) => {
    const box = element("div", {}, table(label, heads, rows));
    const rest = [...box.querySelectorAll("tbody tr")].slice(shown);
    if (rest.length > 1) {
      rest.forEach((row) => { row.hidden = true; });
      const more = element("button", { type: "button", on: { click: () => { rest.forEach((row) => { row.hidden = false; }); more.remove(); } } }, "Show " + count(rest.length) + " more");
      box.append(element("p", {}, more));
    }
    return box;
  };

  // A row of buttons, one of which is pressed.
  const switcher = (id, choices, chosen, choose) => {
    const buttons = choices.map(([value, label]) =>
      element("button", { type: "button", "aria-pressed": String(value === chosen), on: { click: () => press(value) } }, label));
    const press = (value) => {
      choices.forEach(([v], i) => buttons[i].setAttribute("aria-pressed", String(v === value)));
      choose(value);
    };
    byId(id).replaceChildren(...buttons);
    return press;
  };

  // ---- call stacks

  const where = (frame) => frame.name + " (" + frame.filename.split("/").slice(-2).join("/") + ":" + frame.line + ")";
  const ownFrame = (stacks, stack) => (stack < 0 ? "" : where(stacks.frames[stacks.own[stack]]));
  const stackList = (stacks, stack) => {
    if (stack < 0) return element("p", { class: "soft" }, "No call stack was recorded.");
    const own = stacks.own[stack];
    return element("ol", { class: "stack" }, ...stacks.stacks[stack].map((f) => {
      const frame = stacks.frames[f];
      return element("li", { class: f === own ? "own" : undefined }, frame.filename + ":" + frame.line + " " + frame.name);
    }));
  };
  // The name of a call site, and its stack to open.
  const powers = (from) => (from === 512 ? "up to 1 KiB" : size(from) + " to " + size(2 * from)).replace(/\.0+ /g, " ");
  const siteName = (stacks, site) => {
    if (site.stack >= 0) return ownFrame(stacks, site.stack);
    if (site.start) return "allocated before the history";
    return "no call stack, requests of " + powers(site.size || 512);
  };
  const siteCell = (stacks, site, color, note) => {
    const name = [color && chip(color), siteName(stacks, site), note && element("span", { class: "tag" }, note)];
    if (site.stack < 0) return name;
    return [element("details", {}, element("summary", {}, ...name.filter(Boolean)), stackList(stacks, site.stack))];
  };

  // ---- canvases

  // What is redrawn when the colours change. A new report starts a new list.
  let colorListeners = [];
  const onColors = (f) => colorListeners.push(f);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => colorListeners.forEach((f) => f()));

  // Prepares a canvas that is as wide as its box, and redraws it when that changes, or
  // the colours do. draw.over draws what moves above what draw.paint has drawn, which is kept.
  // view.soon() paints all in the next animation frame, view.overSoon() only what moves.
  const canvasOf = (box, draw) => {
    const canvas = box.querySelector("canvas"), kept = document.createElement("canvas");
    const view = { width: 0, height: 0, context: canvas.getContext("2d"), redraw: undefined };
    let frame = 0, all = false;
    const copy = (from, to) => {
      const g = to.getContext("2d");
      g.save(); g.setTransform(1, 0, 0, 1, 0, 0); g.clearRect(0, 0, to.width, to.height); g.drawImage(from, 0, 0); g.restore();
    };
    const paint = () => {
      all = false;
      view.context.clearRect(0, 0, view.width, view.height);
      draw.paint(view);
      if (draw.over) { copy(canvas, kept); draw.over(view); }
    };
    const paintNext = () => {
      frame = 0;
      if (!view.width) return;
      if (all) paint(); else { copy(kept, canvas); draw.over(view); }
    };
    const next = () => { frame = frame || requestAnimationFrame(paintNext); };
    view.soon = () => { all = true; next(); };
    view.overSoon = next;
    view.redraw = () => {
      view.width = box.clientWidth;
      if (!view.width) return;
      const style = getComputedStyle(document.documentElement);
      const known = new Map(); // to ask the style for each of thousands of blocks takes long
      view.color = (name) => known.get(name) || (known.set(name, style.getPropertyValue(name).trim()), known.get(name));
      view.font = style.fontFamily;
      view.height = draw.height(view.width);
      const scale = window.devicePixelRatio || 1;
      canvas.width = Math.round(view.width * scale);
      canvas.height = Math.round(view.height * scale);
      canvas.style.height = view.height + "px";
      if (draw.over) { kept.width = canvas.width; kept.height = canvas.height; }
      view.context.setTransform(scale, 0, 0, scale, 0, 0);
      paint();
    };
    let width = 0;
    queueMicrotask(() => { width = box.clientWidth; view.redraw(); }); // when the page is built
    new ResizeObserver(() => {
      if (box.clientWidth !== width) { width = box.clientWidth; requestAnimationFrame(view.redraw); }
    }).observe(box);
    onColors(view.redraw);
    return view;
  };

  const showTip = (box, x, y, lines) => {
    const tip = box.querySelector(".tip");
    tip.replaceChildren(...lines.filter(Boolean).map((line, i) => element(i ? "div" : "b", {}, ...(Array.isArray(line) ? line : [line]))));
    tip.hidden = false;
    tip.style.left = Math.max(0, Math.min(x + 14, box.clientWidth - tip.offsetWidth - 2)) + "px";
    tip.style.top = (y + 18 + tip.offsetHeight > box.clientHeight && y > tip.offsetHeight + 10 ? y - tip.offsetHeight - 10 : y + 18) + "px";
  };
  const hideTip = (box) => { box.querySelector(".tip").hidden = true; };

  // Makes a box a slider over positions 0 to last().
  const slider = (box, last, at, pick, extra) => {
    const go = (to) => pick(Math.max(0, Math.min(last(), to)), true);
    box.addEventListener("keydown", (event) => {
      const now = at();
      const steps = {
        ArrowLeft: () => now - 1, ArrowRight: () => now + 1, Home: () => 0, End: () => last(),
        PageUp: () => now - Math.ceil(last() / 20), PageDown: () => now + Math.ceil(last() / 20), ...extra,
      };
      const step = steps[event.key];
      if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      go(step());
    });
    box.addEventListener("focus", () => { if (box.matches(":focus-visible")) go(at()); });
    box.addEventListener("blur", () => hideTip(box));
    box.addEventListener("pointerleave", () => { if (document.activeElement !== box) hideTip(box); });
  };
  const describeSlider = (box, now, last, text) => {
    box.setAttribute("aria-valuemin", "0");
    box.setAttribute("aria-valuemax", String(last));
    box.setAttribute("aria-valuenow", String(now));
    box.setAttribute("aria-valuetext", text);
  };

  // ---- colours

  const darkScheme = matchMedia("(prefers-color-scheme: dark)"), dark = () => darkScheme.matches;
  // The colour of the i-th series: neighbours differ in hue and lightness.
  const hues = [212, 28, 150, 340, 265, 55, 190, 8, 100, 305];
  const seriesColor = (i) => {
    const light = dark() ? [66, 50, 76] : [50, 66, 38];
    return "hsl(" + hues[i % hues.length] + " " + (dark() ? 62 : 58) + "% " + light[Math.floor(i / hues.length) % light.length] + "%)";
  };
  const othersColor = () => (dark() ? "#5a6473" : "#aab2bf");

  // A command, with a button that copies it.
  const copyable = (text) => {
    const status = element("span", { role: "status", class: "soft" });
    const copy = () => navigator.clipboard.writeText(text).then(() => { status.textContent = "copied"; }, () => { status.textContent = "cannot copy here: select the line"; });
    return element("span", { class: "export" }, element("code", {}, text), element("button", { type: "button", on: { click: copy } }, "Copy"), status);
  };

  // The three lines of a report. What to try is on a line of its own below, if it is a command of
  // the report that is shown.
  const briefOf = (data, shown) => {
    const b = data.brief, label = (name) => element("span", { class: "label" }, name + ": ");
    if (!b) return [];
    const [command, condition] = b.try.split("   # "), isCommand = command.startsWith("export "), setting = command.replace(/^export [^=]*=/, "").replace(/ .*/, "");
    return [element("p", {}, b.happened), b.cause && element("p", {}, label("Cause"), b.cause), b.peak && element("p", {}, label("Peak"), b.peak), b.diff && element("p", {}, label("Difference"), b.diff),
      b.try && element("p", {}, label("Try"), ...(isCommand && shown ? [element("b", {}, setting), condition ? ", " + condition : ""] : [isCommand ? copyable(b.try) : element("b", {}, b.try)]))].filter(Boolean);
  };

  // What happened over several reports, and behind a fold what is known of it.
  const told = (of) => [element("div", { class: "brief" }, ...briefOf(of)), element("details", { class: "reasons" }, element("summary", {}, "Why"), element("p", { class: "advice" }, of.verdict))];

  // ---- one report

  const render = (data) => {
    const summary = data.summary, stacks = data.stacks;
    const hasHistory = summary.entries > 0;
    byId("report").replaceChildren(byId("template").content.cloneNode(true));

    // Sums of deltas.
    const series = (deltas) => { let sum = 0; return deltas.map((d) => (sum += d)); };
    const t = data.timeline, n = t.allocatedMax.length;
    const sites = data.sites.map((s) => ({ ...s, series: s.deltas && s.deltas.length === n ? series(s.deltas) : null }));
    const categories = data.categories.map((c) => ({ ...c, series: c.deltas && c.deltas.length === n ? series(c.deltas) : null }));

    // ---- verdict and statistics

    // What the allocator held at its peak beyond the most that the program had.
    const aboveAllocated = (s) => {
      const more = Math.max(0, s.peakReserved - s.peakAllocated);
      return more ? size(more) + " (" + percent(of(more, s.peakReserved)) + ") above the peak allocated" : "no more than the peak allocated";
    };

    const drawVerdict = () => {
      byId("brief").append(...briefOf(data, true));
      byId("verdict").textContent = data.verdict;
      byId("reasons").hidden = !data.verdict;
      if (!data.verdict) byId("verdict-title").textContent = page.reports.length > 1 ? data.title : "Statistics";
      const box = byId("export"), step = (text) => box.append(element("p", { class: "help" }, text));
      if (data.whatif && data.whatif.askLimit) {
        step("First: " + data.whatif.askLimit);
        box.append(copyable("gaugeblock report " + (page.ranks || page.compared || !/^[\w./-]+$/.test(page.source) ? "SNAPSHOT" : page.source) + " --limit LIMITGiB"));
        if (data.whatif.export) step("Then, if that is still what to try:");
      }
      if (data.whatif && data.whatif.export) box.append(copyable(data.whatif.export));
      const statistic = (name, value, detail, kind) =>
        byId("statistics").append(element("div", {}, element("dt", {}, name), element("dd", { class: kind }, value, detail && element("small", {}, detail))));
      statistic("Peak allocated", size(summary.peakAllocated));
      statistic("Peak reserved", size(summary.peakReserved), aboveAllocated(summary));
      if (hasHistory) {
        statistic("Requests", count(summary.requests), summary.durationUS ? "recorded over " + time(summary.durationUS) : undefined);
        statistic("Out of memory", count(summary.ooms), undefined, summary.ooms ? "bad" : undefined);
        statistic("Segments freed", size(summary.reservedFreed), "of " + size(summary.reservedAllocated) + " reserved in all");
        statistic("History", summary.complete ? "complete" : "incomplete", summary.complete ? count(summary.entries) + " entries: requests, frees, segments" : "its beginning is missing");
      }
      statistic("PYTORCH_ALLOC_CONF", summary.settings || "default", undefined, "text");
      const left = stacks.leftOut ? [counted(stacks.leftOut, "call stack is", "call stacks are") + " shown in part, or not at all, so that the page stays small."] : [];
      byId("notes").append(...[...data.notes, ...left].map((note) => element("li", {}, note)));
    };

    // ---- memory over time

    // At a bucket: who holds what, the most first; the rest is of other sites.
    let chosen = null; // the bucket that was clicked
    const holdersListeners = [];
    // What is held all the time is at the bottom, what comes and goes above it.
    const steadiness = (l) => of(l.series.reduce((sum, b) => sum + b, 0) / n, Math.max(...l.series));
    const layersOf = (mode) => allLayers(mode).sort((a, b) => steadiness(b) - steadiness(a));
    const allLayers = (mode) => {
      if (mode === "categories") return categories.map((c, i) => ({ name: c.name, series: c.series, color: () => seriesColor(i), index: i })).filter((l) => l.series);
      if (mode === "sites") return sites.map((s, i) => ({ name: siteName(stacks, s) + (categories.length && s.category > 0 ? ", " + categories[s.category].name : ""), series: s.series, color: () => seriesColor(i), index: i })).filter((l) => l.series);
      return [];
    };
    const held = (layers, i) => layers.map((l) => ({ ...l, bytes: l.series[i] }));

    const drawTimeline = () => {
      const box = byId("timeline");
      if (!n) { byId("timeline-section").hidden = true; return; }
      const timed = Boolean(t.timesUS && t.timesUS.length);
      let byTime = false, mode = sites.some((s) => s.series) ? "sites" : "totals";
      let from = 0, to = n; // the buckets that are shown
      let cursor = t.allocatedMax.indexOf(Math.max(...t.allocatedMax)), dragged = null;
      let layers = layersOf(mode);
      const left = 72, right = 10, upper = 22, lower = 26;
      const at = (i) => (byTime ? (i < n ? t.timesUS[i] : summary.durationUS) : i);
      const place = (view, i) => left + of(at(i) - at(from), at(to) - at(from)) * (view.width - left - right);
      let top = 1;
      const level = (view, bytes) => upper + (1 - bytes / (top * 1.04)) * (view.height - upper - lower);
      let fit = false; // the height is that of allocated memory, and reserved memory may be above it
      const scale = () => { top = 1; for (let i = from; i < to; i++) top = Math.max(top, fit ? 0 : t.reservedMax[i], t.allocatedMax[i]); };

      // The buckets that are shown, in columns of a pixel or more. The one with the most memory
      // stands for the others.
      const columnsOf = (view) => {
        const list = [];
        for (let i = from, end; i < to; i = end) {
          const x = place(view, i);
          let most = i;
          for (end = i + 1; end < to && place(view, end) - x < 1; end++) if (t.allocatedMax[end] > t.allocatedMax[most]) most = end;
          list.push({ x, x2: place(view, end), first: i, end, most });
        }
        return list;
      };
      const extreme = (columns, values, better) => columns.map((c) => {
        let best = values[c.first];
        for (let i = c.first + 1; i < c.end; i++) best = better(best, values[i]);
        return best;
      });
      // A line at a height in each column, without the corners of flat parts.
      const steps = (view, columns, values) => {
        const g = view.context, last = columns.length - 1;
        let before = NaN;
        columns.forEach((c, k) => {
          const y = Math.round(4 * level(view, values[k])) / 4;
          if (y !== before) { if (k) g.lineTo(c.x, before); g.lineTo(c.x, y); }
          before = y;
        });
        g.lineTo(columns[last].x2, before);
      };
      // The area between two lists of bytes, by column.
      const area = (view, columns, low, high) => {
        const back = columns.map((c) => ({ x: c.x2, x2: c.x })).reverse();
        view.context.beginPath();
        steps(view, columns, high);
        steps(view, back, low.slice().reverse());
        view.context.closePath();
      };
      const line = (view, columns, values, color, width) => {
        const g = view.context;
        g.strokeStyle = color; g.lineWidth = width; g.lineJoin = "round";
        g.beginPath();
        steps(view, columns, values);
        g.stroke();
      };
      const axes = (view) => {
        const g = view.context;
        g.font = "12px " + view.font;
        g.fillStyle = view.color("--soft"); g.strokeStyle = view.color("--line"); g.lineWidth = 1;
        g.textAlign = "right"; g.textBaseline = "middle";
        for (const bytes of sizesUpTo(top * 1.04)) {
          const y = Math.round(level(view, bytes)) + 0.5;
          g.beginPath(); g.moveTo(left, y); g.lineTo(view.width - right, y); g.stroke();
          g.fillText(size(bytes), left - 8, y);
        }
        g.textBaseline = "alphabetic"; g.textAlign = "center";
        // Steps of 1, 2 or 5 times a power of ten.
        const factor = byTime ? 1e6 : 1 / t.entriesPerBucket; // of a label's unit
        const first = at(from) / factor, last = Math.min(at(to) / factor, byTime ? Infinity : summary.entries);
        const wanted = (last - first) / (view.width < 600 ? 3 : 8);
        const power = Math.pow(10, Math.floor(Math.log10(Math.max(wanted, byTime ? 1e-6 : 1))));
        const step = power * [1, 2, 5, 10].find((k) => k * power >= wanted * 0.999);
        for (let k = Math.ceil(first / step); k * step <= last; k++) {
          const x = left + of(k * step - first, at(to) / factor - first) * (view.width - left - right);
          if (x > view.width - 30) break;
          g.textAlign = x - left < 20 ? "left" : "center";
          g.fillText(byTime ? Number((k * step).toPrecision(6)).toLocaleString("en") + " s" : count(k * step), x, view.height - 6);
        }
      };
      const marks = (view) => {
        const g = view.context, most = Math.max(...t.segmentsFreed, 1), ground = view.height - lower;
        g.fillStyle = view.color("--freed");
        for (let i = from; i < to; i++) {
          const bytes = t.segmentsFreed[i];
          if (bytes) g.fillRect(place(view, i), ground - 3 - 9 * (bytes / most), Math.max(1.5, place(view, i + 1) - place(view, i)), 3 + 9 * (bytes / most));
        }
        g.fillStyle = view.color("--oom");
        for (let i = from; i < to; i++) {
          if (!t.ooms[i]) continue;
          const x = place(view, i);
          g.fillRect(x - 0.75, upper, 1.5, ground - upper);
          g.beginPath(); g.moveTo(x - 6, 2); g.lineTo(x + 6, 2); g.lineTo(x, 13); g.fill();
        }
      };
      // Annotations are bars at the upper edge, nested ones below.
      const spans = (view) => {
        const g = view.context, ends = [];
        g.globalAlpha = 0.75;
        for (const s of data.annotations.spans) {
          const a = s.first / t.entriesPerBucket, b = (s.last + 1) / t.entriesPerBucket;
          if (b < from || a > to) continue;
          const x = place(view, Math.max(from, Math.floor(a))), w = Math.max(2, place(view, Math.min(to, Math.ceil(b))) - x - 1);
          let row = ends.findIndex((end) => end <= s.first);
          if (row < 0) row = ends.length;
          ends[row] = s.last;
          if (row > 2) continue;
          g.fillStyle = seriesColor(s.name + 3);
          g.fillRect(x, 1 + 6 * row, w, 4);
        }
        g.globalAlpha = 1;
      };
      const paint = (view) => {
        const g = view.context, columns = columnsOf(view), ground = columns.map(() => 0);
        const reserved = extreme(columns, t.reservedMax, Math.max), allocated = columns.map((c) => t.allocatedMax[c.most]);
        axes(view);
        g.save();
        g.beginPath(); g.rect(left, upper - 2, view.width - left - right, view.height - upper - lower + 3); g.clip();
        area(view, columns, ground, reserved);
        g.fillStyle = view.color("--reserved-area"); g.fill();
        if (layers.length) {
          let below = ground;
          for (const l of layers) {
            const above = columns.map((c, k) => below[k] + l.series[c.most]);
            area(view, columns, below, above);
            g.fillStyle = l.color(); g.fill();
            below = above;
          }
          area(view, columns, below.map((bytes, k) => Math.min(bytes, allocated[k])), allocated);
          g.fillStyle = othersColor(); g.fill();
          line(view, columns, allocated, view.color("--text"), 0.8);
        } else {
          area(view, columns, ground, allocated); g.fillStyle = view.color("--allocated-area"); g.fill();
          area(view, columns, extreme(columns, t.allocatedMin, Math.min), allocated); g.fillStyle = view.color("--allocated"); g.fill();
          line(view, columns, allocated, view.color("--allocated"), 1.2);
          line(view, columns, extreme(columns, t.reservedMin, Math.min), view.color("--reserved"), 1.2);
        }
        line(view, columns, reserved, view.color("--reserved"), 1.4);
        g.restore();
        marks(view);
        spans(view);
      };
      // What was chosen, pointed at, and dragged.
      const over = (view) => {
        const g = view.context;
        const bar = (i, color, wide) => {
          g.strokeStyle = color; g.lineWidth = wide;
          const x = (place(view, i) + place(view, i + 1)) / 2;
          g.beginPath(); g.moveTo(x, upper); g.lineTo(x, view.height - lower); g.stroke();
        };
        if (chosen !== null && chosen >= from && chosen < to) bar(chosen, view.color("--accent"), 2);
        if (!box.querySelector(".tip").hidden && cursor >= from && cursor < to) bar(cursor, view.color("--select"), 1);
        if (dragged && dragged.to !== undefined) {
          g.fillStyle = view.color("--accent"); g.globalAlpha = 0.2;
          g.fillRect(Math.min(dragged.x, dragged.to), upper, Math.abs(dragged.to - dragged.x), view.height - upper - lower);
          g.globalAlpha = 1;
        }
      };
      const range = (low, high) => (low === high ? size(high) : size(low) + " to " + size(high));
      const lines = (i, pointed) => {
        const first = i * t.entriesPerBucket, end = Math.min(first + t.entriesPerBucket, summary.entries) - 1;
        const now = held(layers, i).sort((a, b) => b.bytes - a.bytes);
        const inside = data.annotations.spans.filter((s) => s.first <= end && s.last >= first).map((s) => data.annotations.names[s.name].name);
        return [
          pointed ? [chip(pointed.color()), pointed.name + ": " + size(pointed.series[i])] : (first === end ? "entry " + count(first) : "entries " + count(first) + " to " + count(end)) + (timed ? ", " + time(t.timesUS[i]) : ""),
          pointed && (first === end ? "entry " + count(first) : "entries " + count(first) + " to " + count(end)) + (timed ? ", " + time(t.timesUS[i]) : ""),
          "allocated: " + range(t.allocatedMin[i], t.allocatedMax[i]),
          "reserved: " + range(t.reservedMin[i], t.reservedMax[i]),
          ...now.filter((l) => l.bytes > 0 && !(pointed && l.index === pointed.index)).slice(0, 5).map((l) => [chip(l.color()), size(l.bytes) + " " + l.name]),
          inside.length > 0 && "in " + [...new Set(inside)].slice(0, 3).join(", "),
          t.segmentsFreed[i] > 0 && "segments freed: " + size(t.segmentsFreed[i]),
          t.ooms[i] > 0 && "out of memory: " + counted(t.ooms[i], "request", "requests"),
        ].filter(Boolean);
      };
      const view = canvasOf(box, { height: (width) => Math.max(240, Math.min(400, width * 0.42)), paint, over });
      const text = (line) => (Array.isArray(line) ? line[1] : line);
      let pointerY = 30;
      const pick = (i, keyboard, pointed) => {
        cursor = Math.max(from, Math.min(to - 1, i));
        const all = lines(cursor, pointed);
        describeSlider(box, cursor, n - 1, all.map(text).join("; "));
        showTip(box, (place(view, cursor) + place(view, cursor + 1)) / 2, keyboard ? 30 : pointerY, all);
        view.overSoon();
      };
      const bucketAt = (x) => {
        let i = from;
        for (let low = from, high = to - 1; low <= high;) {
          const middle = (low + high) >> 1;
          if (place(view, middle) <= x) { i = middle; low = middle + 1; } else high = middle - 1;
        }
        return i;
      };
      const layerAt = (i, y) => {
        let sum = 0;
        for (const l of layers) {
          sum += l.series[i];
          if (level(view, sum) <= y) return level(view, sum - l.series[i]) >= y ? l : null;
        }
        return null;
      };
      const zoomTo = (a, b) => {
        from = Math.max(0, Math.min(a, n - 1)); to = Math.min(n, Math.max(b, from + 1));
        scale();
        hideTip(box);
        view.soon();
      };
      const zoomBy = (factor, around) => {
        const width = Math.max(2, Math.round((to - from) * factor)), middle = Math.min(to, Math.max(from, around));
        const a = Math.round(middle - (middle - from) * (width / (to - from)));
        zoomTo(Math.max(0, Math.min(a, n - width)), Math.max(0, Math.min(a, n - width)) + width);
      };
      const choose = (i) => { chosen = i; holdersListeners.forEach((f) => f()); view.overSoon(); };
      const point = (event) => { const b = box.getBoundingClientRect(); pointerY = event.clientY - b.top; return event.clientX - b.left; };
      box.addEventListener("pointerdown", (event) => { if (event.button === 0) { dragged = { x: point(event) }; box.setPointerCapture(event.pointerId); } });
      box.addEventListener("pointermove", (event) => {
        const x = point(event);
        if (dragged && (dragged.to !== undefined || Math.abs(x - dragged.x) > 6)) { dragged.to = Math.max(left, Math.min(view.width - right, x)); hideTip(box); view.overSoon(); return; }
        const i = bucketAt(x);
        pick(i, false, layerAt(i, pointerY));
      });
      box.addEventListener("pointerup", (event) => {
        const d = dragged;
        dragged = null;
        if (!d) return;
        if (d.to === undefined) { choose(bucketAt(point(event))); return; }
        const a = bucketAt(Math.min(d.x, d.to)), b = bucketAt(Math.max(d.x, d.to)) + 1;
        zoomTo(a, Math.max(b, a + 2));
      });
      box.addEventListener("pointercancel", () => { dragged = null; view.overSoon(); });
      box.addEventListener("dblclick", () => zoomTo(0, n));
      for (const event of ["pointerleave", "blur"]) box.addEventListener(event, view.overSoon);
      const pan = (step) => {
        const i = cursor + step;
        if (i >= to && to < n) zoomTo(from + i - to + 1, i + 1);
        if (i < from && from > 0) zoomTo(i, to - (from - i));
        return i;
      };
      slider(box, () => n - 1, () => cursor, pick, {
        ArrowLeft: () => pan(-1), ArrowRight: () => pan(1), Home: () => from, End: () => to - 1,
        PageUp: () => pan(-Math.ceil((to - from) / 20)), PageDown: () => pan(Math.ceil((to - from) / 20)),
        "+": () => { zoomBy(0.5, cursor); return cursor; }, "-": () => { zoomBy(2, cursor); return cursor; }, 0: () => { zoomTo(0, n); return cursor; },
        Enter: () => { choose(cursor); return cursor; }, " ": () => { choose(cursor); return cursor; },
      });
      const button = (label, action) => element("button", { type: "button", on: { click: action } }, label);
      const fitting = button("Fit to allocated", () => { fit = !fit; fitting.setAttribute("aria-pressed", String(fit)); scale(); view.soon(); });
      fitting.setAttribute("aria-pressed", "false");
      const peak = t.allocatedMax.indexOf(Math.max(...t.allocatedMax)), oom = t.ooms.findIndex((k) => k > 0);
      const around = (i) => () => { const w = Math.max(10, Math.round(n / 20)); zoomTo(i - w, i + w); };
      byId("timeline-zoom").append(button("Zoom in", () => zoomBy(0.5, cursor >= from && cursor < to ? cursor : (from + to) / 2)), button("Zoom out", () => zoomBy(2, (from + to) / 2)),
        button("To the peak", around(peak)), ...(oom >= 0 ? [button("To the out of memory", around(oom))] : []), button("All", () => zoomTo(0, n)), fitting);
      const showLegend = () => {
        byId("timeline-legend").replaceChildren();
        const shown = [...layers].sort((a, b) => a.index - b.index).slice(0, 12).map((l) => [l.name, l.color()]);
        if (mode === "sites" && (layers.length > 12 || sites.length > layers.length || data.moreSites)) shown.push(["other call sites", othersColor()]);
        if (!layers.length) shown.push(["allocated", "var(--allocated)"]);
        shown.push(["reserved", "var(--reserved)"]);
        if (t.segmentsFreed.some((b) => b)) shown.push(["segments freed", "var(--freed)"]);
        if (summary.ooms) shown.push(["out of memory", "var(--oom)"]);
        legend("timeline-legend", shown);
      };
      const modes = [["sites", "by call site"], ["categories", data.ownCategories ? "by category" : "by category (a guess)"], ["totals", "allocated and reserved"]]
        .filter(([m]) => m === "totals" || layersOf(m).length);
      switcher("timeline-mode", modes, mode, (m) => { mode = m; layers = layersOf(m); showLegend(); view.soon(); });
      if (timed) switcher("timeline-axis", [[false, "by entry"], [true, "by time"]], false, (value) => { byTime = value; view.soon(); });
      scale();
      showLegend();
      describeSlider(box, cursor, n - 1, lines(cursor).map(text).join("; "));
      onColors(showLegend);
    };

    const kindOf = (s) => [
      s.large ? "large" : "small", s.expandable && "expandable",
      s.pool && "pool " + s.pool, s.stream && "stream " + s.stream,
    ].filter(Boolean).join(", ");

    // ---- single allocations, segments, and blocks of the host

    // Each is a polygon: as high as its bytes, and lower whenever one below it is freed. The section's
    // elements have names that begin with its own; words say how a polygon begins and ends.
    const drawPolygons = (id, { list, others, rest, entries, entriesPerBucket, kinds }, words) => {
      const box = byId(id);
      if (!list.length || !entries) { byId(id + "-section").hidden = true; return; }
      const [BEGIN, END, SIZE, STACK] = [0, 1, 2, 3];
      // The corners of each: from entry x on it is at y, in bytes above the rest.
      const shapes = list.map((a, i) => ({ a, i, xs: [], ys: [] }));
      const ends = shapes.map((s) => s).sort((s, o) => s.a[END] - o.a[END]);
      let live = [], height = 0, next = 0, top = 1;
      const heights = { xs: [], ys: [] }; // of all together, from each entry on
      const grow = (x, bytes) => { height += bytes; heights.xs.push(x); heights.ys.push(height); };
      const end = (s) => {
        const k = live.indexOf(s);
        live.splice(k, 1);
        grow(s.a[END], -s.a[SIZE]);
        for (let j = k; j < live.length; j++) {
          const o = live[j];
          o.y -= s.a[SIZE];
          if (o.xs[o.xs.length - 1] === s.a[END]) o.ys[o.ys.length - 1] = o.y; else { o.xs.push(s.a[END]); o.ys.push(o.y); }
        }
      };
      for (const s of shapes) {
        while (next < ends.length && ends[next].a[END] <= s.a[BEGIN]) end(ends[next++]);
        s.y = height; s.xs.push(s.a[BEGIN]); s.ys.push(height);
        live.push(s); grow(s.a[BEGIN], s.a[SIZE]); top = Math.max(top, height);
      }
      while (next < ends.length && ends[next].a[END] < entries) end(ends[next++]);
      const most = rest.reduce((m, b) => Math.max(m, b), 0), whole = (top + most) * 1.03;
      const left = 72, right = 10, upper = 8, lower = 24;
      let from = 0, to = entries, cursor = 0, picked = null, dragged = null;
      const place = (view, x) => left + ((x - from) / (to - from)) * (view.width - left - right);
      const level = (view, bytes) => upper + (1 - bytes / whole) * (view.height - upper - lower);
      const colorOf = (s) => seriesColor((s.a[STACK] >= 0 ? stacks.own[s.a[STACK]] : Math.round(Math.log2(s.a[SIZE] + 1))) + 1);
      // The number of the last corner at x or before, at least 0.
      const cornerAt = (xs, x) => {
        let low = 0;
        for (let high = xs.length - 1; low < high;) {
          const middle = (low + high + 1) >> 1;
          if (xs[middle] <= x) low = middle; else high = middle - 1;
        }
        return low;
      };
      // The corners that are shown, at most one in half a pixel.
      const visible = (view, xs, ys) => {
        const px = [], py = [];
        for (let i = cornerAt(xs, from); i < xs.length && xs[i] < to; i++) {
          const x = Math.max(left, place(view, xs[i])), y = level(view, most + ys[i]), last = px.length - 1;
          if (last >= 0 && x - px[last] < 0.5) py[last] = y; else { px.push(x); py.push(y); }
        }
        return [px, py];
      };
      const trace = (view, s) => {
        const g = view.context, [px, py] = visible(view, s.xs, s.ys), stop = place(view, Math.min(s.a[END], to));
        const high = level(view, 0) - level(view, s.a[SIZE]), end = (i) => (i + 1 < px.length ? px[i + 1] : stop);
        g.beginPath();
        for (let i = 0; i < px.length; i++) { g.lineTo(px[i], py[i] - high); g.lineTo(end(i), py[i] - high); }
        for (let i = px.length - 1; i >= 0; i--) { g.lineTo(end(i), py[i]); g.lineTo(px[i], py[i]); }
        g.closePath();
      };
      // All together: the area below those that are too small to be seen.
      const traceAll = (view) => {
        const g = view.context, perPixel = (to - from) / (view.width - left - right), base = level(view, most);
        for (let i = cornerAt(heights.xs, from); i < heights.xs.length && heights.xs[i] < to;) {
          const x = Math.max(from, heights.xs[i]);
          let highest = 0;
          for (; i < heights.xs.length && heights.xs[i] <= x + perPixel; i++) highest = Math.max(highest, heights.ys[i]);
          const stop = i < heights.xs.length ? Math.min(heights.xs[i], to) : to, y = level(view, most + highest);
          g.fillRect(place(view, x), y, place(view, stop) - place(view, x), base - y);
        }
      };
      const paint = (view) => {
        const g = view.context;
        g.save();
        g.beginPath(); g.rect(left, 0, view.width - left - right, view.height - lower); g.clip();
        g.fillStyle = othersColor();
        const first = Math.floor(from / entriesPerBucket), last = Math.min(rest.length, Math.ceil(to / entriesPerBucket));
        for (let i = first; i < last; i++) {
          const x = place(view, i * entriesPerBucket), x2 = place(view, (i + 1) * entriesPerBucket);
          g.fillRect(x, level(view, most), x2 - x + 0.5, level(view, 0) - level(view, rest[i]));
        }
        traceAll(view);
        const seen = 0.5, bytes = seen / (level(view, 0) - level(view, 1)), shortest = (seen * (to - from)) / (view.width - left - right);
        for (const s of shapes) {
          if (s.a[END] < from || s.a[BEGIN] > to || s.a[SIZE] < bytes || s.a[END] - s.a[BEGIN] < shortest) continue;
          trace(view, s);
          g.fillStyle = colorOf(s); g.fill();
        }
        g.restore();
        g.font = "12px " + view.font; g.fillStyle = view.color("--soft"); g.textAlign = "right"; g.textBaseline = "middle";
        for (const bytes of sizesUpTo(whole)) g.fillText(size(bytes), left - 8, Math.max(8, level(view, bytes)));
        g.textAlign = "left"; g.textBaseline = "alphabetic"; g.fillText("entry " + count(Math.round(from)), left, view.height - 6);
        g.textAlign = "right"; g.fillText(count(Math.round(to)), view.width - right, view.height - 6);
      };
      // The one that is picked, and what is dragged.
      const over = (view) => {
        const g = view.context;
        g.save();
        g.beginPath(); g.rect(left, 0, view.width - left - right, view.height - lower); g.clip();
        if (picked) { trace(view, picked); g.strokeStyle = view.color("--select"); g.lineWidth = 2; g.stroke(); }
        if (dragged && dragged.to !== undefined) { g.fillStyle = view.color("--accent"); g.globalAlpha = 0.2; g.fillRect(Math.min(dragged.x, dragged.to), 0, Math.abs(dragged.to - dragged.x), view.height); }
        g.restore();
      };
      const view = canvasOf(box, { height: (width) => Math.max(260, Math.min(460, width * 0.45)), paint, over });
      const yAt = (s, x) => s.ys[cornerAt(s.xs, x)];
      const lines = (s) => [size(s.a[SIZE]) + " (" + count(s.a[SIZE]) + " bytes)", kinds && kindOf(data.states.kinds[kinds[s.i]]), s.a[STACK] >= 0 && ownFrame(stacks, s.a[STACK]),
        (s.a[BEGIN] < 0 ? words.begun + " before the history" : words.begun + " at entry " + count(s.a[BEGIN])) + (s.a[END] < entries ? ", freed at entry " + count(s.a[END]) : ", not freed")].filter(Boolean);
      const show = (s) => {
        const out = byId(id + "-detail");
        out.hidden = false;
        out.replaceChildren(element("b", {}, lines(s).join("; ")), stackList(stacks, s.a[STACK]));
      };
      const pick = (i, keyboard) => {
        cursor = i; picked = shapes[i];
        const text = lines(picked), x = Math.max(picked.a[BEGIN], from);
        describeSlider(box, i, shapes.length - 1, text.join("; "));
        showTip(box, keyboard ? place(view, x) : pointer.x, keyboard ? level(view, most + yAt(picked, x)) : pointer.y, text);
        if (keyboard) show(picked);
        view.overSoon();
      };
      const pointer = { x: 0, y: 0 };
      const entryAt = (x) => from + ((x - left) / (view.width - left - right)) * (to - from);
      const hit = () => {
        const x = entryAt(pointer.x), bytes = whole * (1 - (pointer.y - upper) / (view.height - upper - lower)) - most;
        return shapes.find((s) => s.a[BEGIN] <= x && x < s.a[END] && yAt(s, x) <= bytes && bytes < yAt(s, x) + s.a[SIZE]);
      };
      const zoomTo = (a, b) => { from = Math.max(0, Math.min(a, b)); to = Math.min(entries, Math.max(a, b, from + 10)); view.soon(); };
      const at = (event) => { const bounds = box.getBoundingClientRect(); pointer.x = event.clientX - bounds.left; pointer.y = event.clientY - bounds.top; };
      box.addEventListener("pointerdown", (event) => { at(event); dragged = { x: pointer.x }; });
      box.addEventListener("pointermove", (event) => {
        at(event);
        if (dragged && event.buttons) { dragged.to = pointer.x; view.overSoon(); return; }
        const s = hit();
        if (s) pick(s.i, false); else { hideTip(box); }
      });
      addEventListener("pointerup", () => {
        if (!dragged) return;
        const d = dragged; dragged = null;
        if (d.to !== undefined && Math.abs(d.to - d.x) > 6) zoomTo(entryAt(d.x), entryAt(d.to)); else if (picked && hit() === picked) show(picked);
      });
      const button = (label, action) => element("button", { type: "button", on: { click: action } }, label);
      const by = (factor) => { const middle = (from + to) / 2, half = ((to - from) / 2) * factor; zoomTo(middle - half, middle + half); };
      byId(id + "-zoom").append(button("Zoom in", () => by(0.5)), button("Zoom out", () => by(2)), button("All", () => zoomTo(0, entries)));
      slider(box, () => shapes.length - 1, () => cursor, pick, { "+": () => { by(0.5); return cursor; }, "-": () => { by(2); return cursor; }, 0: () => { zoomTo(0, entries); return cursor; } });
      byId(id + "-help").textContent = words.each + " is as high as its bytes, from where it is " + words.begun + " to where it is freed. Point at one for its size and line; click, or use the arrow keys, for its call stack. Drag to zoom." +
        (others ? " The " + count(others) + " that hold least are one area at the bottom." : "");
      describeSlider(box, 0, shapes.length - 1, lines(shapes[0]).join("; "));
    };

    const drawHost = () => {
      const h = data.host;
      if (!h) { byId("host-section").hidden = true; return; }
      byId("host-summary").textContent = size(h.peak) + " allocated and " + size(h.peakReserved) + " reserved at the peaks; " + size(h.allocated) + " of " + size(h.reserved) + " at the end. Pinned memory is of the whole process: freed blocks are kept for later, until torch._C._host_emptyCache().";
      if (h.allocations.entries) drawPolygons("host", h.allocations, { each: "Each block", begun: "allocated" });
      for (const name of ["host", "host-zoom"]) byId(name).hidden = !h.allocations.list.length || !h.allocations.entries;
      byId("host-sites").append(longTable("Who holds pinned host memory", [["Call site", "code"], ["At the peak", "word"], ["Blocks", "number"], ["At the end", "number"], ["Allocations", "number"]],
        h.sites.map((s) => [s.stack < 0 ? "no call stack" : siteCell(stacks, s), [size(s.peak[0]), meter([of(s.peak[0], h.peak), "var(--allocated)"])], count(s.peak[1]), size(s.end[0]), count(s.allocations)]), 8));
    };

    // ---- who holds the memory

    const drawHolders = () => {
      if (!sites.length) { byId("holders-section").hidden = true; return; }
      const times = [hasHistory && ["peak", "at the peak"], summary.ooms > 0 && ["oom", "at the first out of memory"], ["end", "at the end"]].filter(Boolean);
      let when = summary.ooms > 0 ? "oom" : times[0][0];
      const press = (list, value) => switcher("holders-when", list, value, (w) => { when = w; show(); });
      const color = (i) => (sites[i].series ? seriesColor(i) : othersColor());
      const show = () => {
        const now = when === "chosen"
          ? sites.map((s, i) => [i, s.series ? [s.series[chosen], 0] : [0, 0]])
          : sites.map((s, i) => [i, s[when]]);
        const list = now.filter(([, h]) => h[0] > 0).sort((a, b) => b[1][0] - a[1][0]);
        const layout = data.layouts.find((m) => m.name === when);
        const total = when === "chosen" ? t.allocatedMax[chosen] : layout ? layout.allocated : summary.peakAllocated;
        const rest = total - list.reduce((sum, [, h]) => sum + h[0], 0);
        const most = list.length ? list[0][1][0] : 1;
        const rows = list.map(([i, h]) => [
          siteCell(stacks, sites[i], color(i)),
          [size(h[0]) + " (" + percent(of(h[0], total)) + ")", meter([h[0] / most, color(i)])],
          h[1] ? count(h[1]) : "", categories.length ? categories[sites[i].category].name : "",
        ]);
        if (rest > 0) rows.push([[chip(othersColor()), "other call sites"], [size(rest) + " (" + percent(of(rest, total)) + ")", meter([rest / most, othersColor()])], "", ""]);
        const heads = [["Call site", "code"], ["Allocated", "word"], ["Blocks", "number"], [data.ownCategories ? "Category" : "What for (a guess)"]];
        const columns = heads.filter((_, k) => rows.some((row) => row[k] !== ""));
        byId("holders").replaceChildren(longTable("Who holds the memory", columns, rows.map((row) => row.filter((_, k) => columns.includes(heads[k]))), 10));
        const first = chosen * t.entriesPerBucket, last = Math.min(first + t.entriesPerBucket, summary.entries) - 1;
        const after = when !== "chosen" ? (layout && layout.entry >= 0 && hasHistory ? ", after entry " + count(layout.entry) : "")
          : first === last ? ", after entry " + count(first) : ", at the maximum of entries " + count(first) + " to " + count(last);
        byId("holders-summary").textContent = size(total) + " allocated" + (layout && when !== "chosen" ? ", of " + size(layout.reserved) + " reserved" : "") +
          after + (sites.every((s) => s.stack < 0)
            ? ". The snapshot has no call stacks, so allocations are shown by size; torch.cuda.memory._record_memory_history() records call stacks, unless it is called with context=None."
            : ". A call site is the innermost frame outside of libraries.");
      };
      holdersListeners.push(() => {
        when = "chosen";
        press([...times, ["chosen", "at the time chosen above"]], when);
        show();
      });
      press(times, when);
      onColors(show);
      show();
      if (!categories.length) {
        byId("categories").append(element("p", { class: "help" }, hasHistory
          ? "What memory is for cannot be guessed without call stacks: _record_memory_history(stacks=\"python\") records them."
          : "What memory is for cannot be guessed without a history: it tells how long memory was allocated."));
        return;
      }
      const used = categories.map((c, i) => [c, i]).filter(([c]) => c.max > 0 || c.end[0] > 0);
      const heads = [["Category"], ["At the peak", "word"], ...(summary.ooms ? [["At the out of memory", "word"]] : []), ["At the end", "word"], ["Most at one time", "number"], ["How it is recognised"]];
      byId("categories").append(element("h3", {}, data.ownCategories ? "Categories, by the patterns that were given" : "What the memory is for: a guess from the call stacks"),
        table("Categories", heads, used.map(([c, i]) => [
          [chip(seriesColor(i)), c.name], [size(c.peak[0]), meter([of(c.peak[0], summary.peakAllocated), seriesColor(i)])],
          ...(summary.ooms ? [[size(c.oom[0]), meter([of(c.oom[0], summary.peakAllocated), seriesColor(i)])]] : []),
          [size(c.end[0]), meter([of(c.end[0], summary.peakAllocated), seriesColor(i)])], size(c.max), soft(c.reason)])));
    };

    // ---- annotations

    const drawAnnotations = () => {
      const names = data.annotations.names;
      if (!names.length && !data.labels.length) { byId("annotations-section").hidden = true; return; }
      if (data.labels.length) {
        byId("annotations").append(element("h3", {}, "Metadata of allocations, from torch.cuda.memory._set_memory_metadata"),
          longTable("Metadata", [["Text", "code"], ["Allocations", "number"], ["Most allocated", "word"], ["At the peak", "number"], ...(summary.ooms ? [["At the out of memory", "number"]] : []), ["At the end", "number"]],
            data.labels.map((l) => [l.text, count(l.allocations), [size(l.max), meter([of(l.max, summary.peakAllocated), "var(--allocated)"])], size(l.peak[0]), ...(summary.ooms ? [size(l.oom[0])] : []), size(l.end[0])]), 8));
      }
      if (!names.length) return;
      byId("annotations").append(longTable("Annotations", [["Name", "code"], ["Times", "number"], ["Duration", "number"], ["Most allocated", "word"], ["Largest growth", "number"]],
        names.map((a, i) => [[chip(seriesColor(i + 3)), a.name], count(a.count), time(a.durationUS),
          [size(a.maxAllocated) + (a.maxAllocated === summary.peakAllocated ? ", the peak" : ""), meter([of(a.maxAllocated, summary.peakAllocated), "var(--allocated)"])], signed(a.maxGrowth)]), 8));
      byId("annotations").append(element("p", { class: "help" }, "From record_function and the optimizers. They are bars above the timeline." + (data.annotations.more ? " " + counted(data.annotations.more, "more name is", "more names are") + " not shown." : "")));
    };

    // ---- segments and blocks

    // The indexes into a block; an inactive one has a size only.
    const [SIZE, REQUESTED, STATE, STACK, ENTRY, COUNT] = [0, 1, 2, 3, 4, 5];
    const states = ["inactive", "allocated", "pending free"], colors = ["--inactive", "--allocated", "--pending"];
    const stateOf = (block) => block[STATE] || 0;
    let layout = data.layouts.find((m) => m.name === "oom") || data.layouts[0];
    const stacksOf = (m) => m.stacks || stacks; // what its blocks' stacks are indexes into
    const layoutListeners = []; // the first is the map; the tables below it follow when the slider rests

    // The columns of the ranges and blocks at all entries, when they are unpacked. States.columns of
    // the package report has what is a difference to what.
    let columns = null;
    const unpackStates = async () => {
      const packed = Uint8Array.from(atob(data.states.packed), (c) => c.charCodeAt(0));
      const text = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
      const { ranges, blocks, stacks } = JSON.parse(text);
      const sums = (Type, list) => { let sum = 0; return Type.from(list, (v) => (sum += v)); };
      const after = (list, by, sign) => list.map((v, i) => v + sign * by[i]);
      const both = (list) => { const begin = sums(Int32Array, list[0]); return { begin, end: after(begin, list[1], 1), address: sums(Float64Array, list[2]), bytes: list[3] }; };
      const r = { ...both(ranges), kind: ranges[4] }, b = { ...both(blocks), stack: blocks[5] };
      return { ranges: r, blocks: { ...b, requested: after(b.bytes, blocks[4], -1), freed: after(b.end, blocks[6], -1) }, stacks };
    };
    // The indexes of what there is after an entry, by address.
    const aliveIn = ({ begin, end, address }, entry) => {
      const list = [];
      for (let i = 0; i < begin.length && begin[i] <= entry; i++) if (entry < end[i]) list.push(i);
      return list.sort((a, b) => address[a] - address[b]);
    };
    // The ranges after an entry, as segments without blocks.
    const segmentsAfter = (entry) => {
      const { address, bytes, kind } = columns.ranges, segments = [];
      for (const i of aliveIn(columns.ranges, entry)) {
        const last = segments[segments.length - 1], k = data.states.kinds[kind[i]];
        if (last && k.expandable && last.kind.expandable && last.end === address[i] && last.kind.stream === k.stream && last.kind.large === k.large) last.end += bytes[i];
        else segments.push({ start: address[i], end: address[i] + bytes[i], kind: k });
      }
      return segments;
    };
    // The segments and blocks after an entry, as a layout.
    const stateAfter = (entry) => {
      const { begin, address, bytes, requested, stack, freed } = columns.blocks;
      const active = aliveIn(columns.blocks, entry), reserved = segmentsAfter(entry);
      let next = 0;
      const list = reserved.map(({ start, end, kind }) => {
        const s = { address: "0x" + start.toString(16), size: end - start, ...kind, allocated: 0, pendingFree: 0, requested: 0, largestFreeBlock: 0, blocks: [], sites: [], moreSites: 0 };
        const sites = new Map();
        let at = start;
        const inactive = (to) => { if (to > at) { s.blocks.push([to - at]); s.largestFreeBlock = Math.max(s.largestFreeBlock, to - at); } };
        while (next < active.length && address[active[next]] < start) next++;
        for (; next < active.length && address[active[next]] < end; next++) {
          const i = active[next], frame = stack[i] < 0 ? -1 : columns.stacks.own[stack[i]], pending = freed[i] <= entry;
          inactive(address[i]);
          s.blocks.push([bytes[i], requested[i], pending ? 2 : 1, stack[i], begin[i]]);
          s[pending ? "pendingFree" : "allocated"] += bytes[i];
          s.requested += requested[i];
          const site = sites.get(frame) || { stack: stack[i], blocks: 0, bytes: 0, entry: begin[i] };
          site.blocks++; site.bytes += bytes[i]; site.entry = Math.min(site.entry, begin[i]);
          sites.set(frame, site);
          at = address[i] + bytes[i];
        }
        inactive(end);
        const listed = 6, bySize = [...sites.values()].sort((a, b) => b.bytes - a.bytes);
        s.sites = bySize.slice(0, listed);
        s.moreSites = bySize.length - s.sites.length;
        return s;
      });
      const sum = (f) => list.reduce((bytes, s) => bytes + f(s), 0);
      const timeUS = (t.timesUS && t.timesUS[Math.floor(entry / t.entriesPerBucket)]) || 0;
      return { name: "entry", entry, timeUS, allocated: sum((s) => s.allocated), reserved: sum((s) => s.size), segments: list, leftOut: 0, merged: false, stacks: columns.stacks };
    };
    // What an entry does.
    const entryDoes = (entry) => {
      const { begin, end, freed, bytes, address, requested, stack } = columns.blocks, r = columns.ranges, said = [];
      const tell = (what, i) => said.push(what + size(bytes[i]) + " at 0x" + address[i].toString(16) + (requested[i] !== bytes[i] ? ", requested " + count(requested[i]) + " bytes" : "") + (stack[i] >= 0 ? ", " + ownFrame(columns.stacks, stack[i]) : ""));
      for (let i = 0; i < begin.length && begin[i] <= entry; i++) {
        if (begin[i] === entry) tell("allocates ", i);
        else if (freed[i] === entry) tell(end[i] === entry ? "frees " : "requests the free of ", i);
        else if (end[i] === entry) tell("completes the free of ", i);
      }
      let reserved = 0;
      for (let i = 0; i < r.begin.length && r.begin[i] <= entry; i++) reserved += r.begin[i] === entry ? r.bytes[i] : r.end[i] === entry ? -r.bytes[i] : 0;
      if (reserved) said.push(reserved > 0 ? "reserves " + size(reserved) : "releases " + size(-reserved) + " of reserved memory");
      const failed = data.ooms.find((f) => f.entry === entry);
      if (failed) said.push("is out of memory: " + size(failed.requested) + " were requested");
      return "Entry " + count(entry) + " " + (said.join("; ") || "changes nothing") + ".";
    };

    const scrubs = hasHistory && data.states.first < summary.entries; // through the entries

    const drawMap = () => {
      const box = byId("map");
      const gap = 3, rowHeight = 20, rowGap = 4;
      let blocks = [], firstOf = [], cursor = 0, rows = [];
      const flatten = () => {
        blocks = []; firstOf = []; cursor = 0;
        const most = 8000, many = layout.segments.reduce((sum, s) => sum + s.blocks.length, 0) > most, tooSmall = many ? Math.floor(layout.reserved / 10000) : 0;
        layout.merged = layout.merged || many;
        layout.segments.forEach((s, i) => {
          firstOf.push(blocks.length);
          let offset = 0, merged = null; // small blocks beside each other are one, as in the package report
          for (const b of s.blocks) {
            if (b[SIZE] >= tooSmall || b[COUNT]) { merged = null; blocks.push({ segment: i, offset, block: b }); }
            else if (!merged) { merged = [b[SIZE], b[REQUESTED] || 0, stateOf(b), -1, -1, 1]; blocks.push({ segment: i, offset, block: merged }); }
            else { merged[SIZE] += b[SIZE]; merged[REQUESTED] += b[REQUESTED] || 0; merged[STATE] = Math.max(merged[STATE], stateOf(b)); merged[COUNT]++; }
            offset += b[SIZE];
          }
        });
      };
      // How many pixels a byte takes, so that all segments fill a sensible number of rows.
      const layOut = (width) => {
        const count = Math.max(3, Math.min(28, Math.ceil(layout.segments.length / 6)));
        const perByte = (width * count * 0.97) / Math.max(1, layout.reserved);
        rows = [];
        let x = 0, row = 0;
        for (const item of blocks) {
          if (item.offset === 0 && x > 0) x += Math.min(gap, perByte * layout.segments[item.segment].size);
          item.pieces = [];
          for (let rest = item.block[SIZE] * perByte; rest > 0;) {
            if (x >= width - 0.5) { x = 0; row++; }
            const part = Math.min(rest, width - x);
            item.pieces.push([x, row, part]);
            (rows[row] = rows[row] || []).push([x, part, item]);
            x += part; rest -= part;
            if (rest < 1e-6) break;
          }
        }
        return row + 1;
      };
      const paint = (view) => {
        const g = view.context;
        colors.forEach((color, state) => {
          g.fillStyle = view.color(color);
          for (const { block, pieces } of blocks) {
            if (stateOf(block) !== state) continue;
            for (const [x, row, part] of pieces) g.fillRect(x, row * (rowHeight + rowGap), part > 2.5 ? part - 0.7 : part, rowHeight);
          }
        });
      };
      let selected = null;
      const over = (view) => {
        if (!selected) return;
        const g = view.context;
        g.strokeStyle = view.color("--select");
        g.lineWidth = 2;
        for (const [x, row, part] of selected.pieces) {
          const wide = Math.max(part, 3);
          g.strokeRect(Math.min(x, view.width - wide) + 1, row * (rowHeight + rowGap) + 1, wide - 2, rowHeight - 2);
        }
      };
      const lines = (item) => {
        const s = layout.segments[item.segment], b = item.block;
        const single = b.length > 1 && !b[COUNT];
        return [
          size(b[SIZE]) + (b[COUNT] ? " in " + counted(b[COUNT], "block", "blocks") + " too small to show, partly " : ", ") + states[stateOf(b)],
          b[REQUESTED] > 0 && "requested: " + size(b[REQUESTED]) + " (" + count(b[REQUESTED]) + " bytes)",
          single && b[STACK] >= 0 && ownFrame(stacksOf(layout), b[STACK]),
          single && b[ENTRY] >= 0 && "allocated at entry " + count(b[ENTRY]),
          single && b[ENTRY] < 0 && hasHistory && "allocated before the start of the history",
          "at " + count(item.offset) + " of " + s.address + ", a segment of " + size(s.size) + " (" + kindOf(s) + ")",
        ].filter(Boolean);
      };
      const view = canvasOf(box, { height: (width) => layOut(width) * (rowHeight + rowGap), paint, over });
      const pick = (i, keyboard) => {
        if (!blocks.length) return;
        cursor = i;
        selected = blocks[i];
        const text = lines(selected);
        describeSlider(box, i, blocks.length - 1, text.join("; "));
        const [x, row] = selected.pieces[0] || [0, 0];
        showTip(box, keyboard ? x : pointer.x, keyboard ? (row + 1) * (rowHeight + rowGap) : pointer.y, text);
        if (keyboard) detail(selected);
        view.overSoon();
      };
      const detail = (item) => {
        const out = byId("block"), b = item.block, single = b.length === 5;
        out.hidden = false;
        out.replaceChildren(element("b", {}, lines(item)[0]), ...(single ? [stackList(stacksOf(layout), b[STACK])] : []), ...blocksOf(layout.segments[item.segment]));
      };
      // All active blocks of a segment, the largest first.
      const blocksOf = (s) => {
        const listed = 200, list = s.blocks.filter((b) => b.length > 1 && !b[COUNT]).sort((a, b) => b[SIZE] - a[SIZE]);
        const all = element("details", {}, element("summary", {}, "Its segment: " + s.address + ", " + size(s.size) + " (" + kindOf(s) + "), " + counted(list.length, "active block", "active blocks")));
        all.addEventListener("toggle", () => {
          if (all.children.length > 1) return;
          all.append(longTable("Blocks of the segment", [["Size", "number"], ["Requested bytes", "number"], ["State"], ["Allocated"], ["Call stack", "code"]], list.slice(0, listed).map((b) => [
            size(b[SIZE]), count(b[REQUESTED]), states[stateOf(b)], b[ENTRY] >= 0 ? "at entry " + count(b[ENTRY]) : hasHistory ? "before the history" : "",
            b[STACK] < 0 ? soft("not recorded") : element("details", {}, element("summary", {}, ownFrame(stacksOf(layout), b[STACK])), stackList(stacksOf(layout), b[STACK]))]), 20),
            list.length > listed ? element("p", { class: "soft" }, "and " + counted(list.length - listed, "smaller block", "smaller blocks")) : "");
        });
        return [all];
      };
      const pointer = { x: 0, y: 0 };
      const find = (x, y) => {
        const row = rows[Math.floor(y / (rowHeight + rowGap))] || [];
        return row.find(([from, part]) => x >= from && x < from + part);
      };
      box.addEventListener("pointermove", (event) => {
        const bounds = box.getBoundingClientRect();
        pointer.x = event.clientX - bounds.left; pointer.y = event.clientY - bounds.top;
        const hit = find(pointer.x, pointer.y);
        if (hit) pick(blocks.indexOf(hit[2]), false);
      });
      box.addEventListener("click", () => { if (selected) detail(selected); });
      const toSegment = (step) => () => {
        const segment = Math.max(0, Math.min(firstOf.length - 1, blocks[cursor].segment + step));
        return firstOf[segment];
      };
      slider(box, () => blocks.length - 1, () => cursor, pick, { ArrowUp: toSegment(-1), ArrowDown: toSegment(1) });
      const show = () => {
        flatten();
        selected = null;
        hideTip(box);
        byId("block").hidden = true;
        box.hidden = !blocks.length;
        if (blocks.length) describeSlider(box, 0, blocks.length - 1, lines(blocks[0]).join("; "));
        const left = layout.leftOut ? " " + counted(layout.leftOut, "smaller segment is", "smaller segments are") + " not drawn." : "";
        const activeBlocks = layout.stacks || !layout.merged && !layout.leftOut ? layout.segments.reduce((sum, s) => sum + s.blocks.filter((b) => b.length > 1).length, 0) : -1;
        byId("layout-summary").replaceChildren(
          layout.entry >= 0 ? "After entry " + count(layout.entry) + (summary.durationUS ? " (" + (layout.stacks && t.entriesPerBucket > 1 ? "about " : "") + time(layout.timeUS) + ")" : "") + ": " : "",
          exactly(layout.allocated), " allocated, of ", exactly(layout.reserved), " reserved in " + counted(layout.segments.length + layout.leftOut, "segment", "segments") +
          (activeBlocks >= 0 ? " with " + counted(activeBlocks, "active block", "active blocks") : "") + "." +
          (layout.merged ? " Blocks too small to see are drawn together." : "") + left +
          (scrubs && data.states.first > 0 ? " The slider begins at entry " + count(data.states.first) + ", so that the page stays small." : "") +
          (scrubs && !summary.complete ? " What there was before the history is found by undoing its entries, from the last one back; a block of then may be larger than is shown." : ""));
        view.redraw();
      };
      layoutListeners.push(show);
      legend("map-legend", [["allocated", "var(--allocated)"], ["pending free: still used by a stream", "var(--pending)"], ["inactive", "var(--inactive)"]]);
      const entry = byId("entry"), change = (to) => { layout = to; layoutListeners.forEach((f) => f()); };
      if (data.layouts.length > 1) {
        switcher("layouts", data.layouts.map((m) => [m, m.title]), layout, change);
      }
      const number = byId("entry-number"), first = data.states.first, last = Math.max(0, summary.entries - 1);
      byId("entry-label").hidden = !scrubs;
      for (const input of [entry, number]) { input.min = first; input.max = last; input.disabled = true; }
      const tell = () => { entry.value = layout.entry; number.value = layout.entry; byId("entry-does").textContent = columns && layout.entry >= first ? entryDoes(layout.entry) : ""; };
      layoutListeners.push(tell);
      tell();
      let frame = 0, wanted = 0;
      const go = (to, rests) => {
        wanted = Math.max(first, Math.min(last, Math.round(to)));
        for (const button of byId("layouts").querySelectorAll("button")) button.setAttribute("aria-pressed", "false");
        if (rests) change(stateAfter(wanted));
        else frame = frame || requestAnimationFrame(() => { frame = 0; layout = stateAfter(wanted); layoutListeners[0](); tell(); });
      };
      entry.addEventListener("input", () => go(Number(entry.value), false));
      entry.addEventListener("change", () => go(Number(entry.value), true));
      number.addEventListener("change", () => go(Number(number.value) || 0, true));
      const ready = (unpacked) => {
        columns = unpacked;
        for (const input of [entry, number]) input.disabled = false;
        tell();
        const linked = location.hash.match(/^#entry=(\d+)$/);
        if (linked) { go(Number(linked[1]), true); byId("map-section").scrollIntoView(); }
      };
      if (scrubs) unpackStates().then(ready, () => { byId("entry-does").textContent = "This browser cannot read the states at all entries: it has no DecompressionStream."; });
      show();
    };

    // ---- pools

    const drawPools = () => {
      const show = () => {
        const pools = new Map();
        for (const s of layout.segments) {
          const key = JSON.stringify([s.pool, s.stream, s.large]);
          const p = pools.get(key) || { s, segments: 0, size: 0, allocated: 0, pending: 0, largest: 0 };
          p.segments++; p.size += s.size; p.allocated += s.allocated; p.pending += s.pendingFree; p.largest = Math.max(p.largest, s.largestFreeBlock);
          pools.set(key, p);
        }
        const list = [...pools.values()].sort((a, b) => b.size - a.size), most = list.length ? list[0].size : 1;
        byId("pools").replaceChildren(longTable("Pools", [["Pool", "code"], ["Stream"], ["Segments", "number"], ["Reserved", "word"], ["Allocated", "number"], ["Free", "number"], ["Largest free block", "number"]],
          list.map((p) => [(p.s.pool || "default") + (p.s.large ? ", large" : ", small"), p.s.stream || "default", count(p.segments), [size(p.size), meter([p.allocated / most, "var(--allocated)"], [p.pending / most, "var(--pending)"], [(p.size - p.allocated - p.pending) / most, "var(--reserved)"])],
            size(p.allocated), size(p.size - p.allocated - p.pending), size(p.largest)]), 12));
      };
      layoutListeners.push(show);
      show();
    };

    // ---- segments

    const drawSegments = () => {
      const active = (s) => s.allocated + s.pendingFree;
      const orders = {
        largest: (s) => s.size,
        inactive: (s) => (active(s) > 0 ? s.size - active(s) : 0),
        cached: (s) => (active(s) > 0 ? 0 : s.size),
      };
      const maxRows = 10;
      let order = "inactive";
      const sites = (s) => {
        if (!s.sites.length) return element("span", { class: "good" }, "none: torch.cuda.empty_cache() frees the segment");
        const bytes = s.sites.reduce((sum, k) => sum + k.bytes, 0);
        const blocks = s.sites.reduce((sum, k) => sum + k.blocks, 0);
        const lead = (s.moreSites ? "at least " : "") + counted(blocks, "block", "blocks") + ", " + size(bytes) +
          (s.sites[0].stack >= 0 ? ", most from " + ownFrame(stacksOf(layout), s.sites[0].stack) : "");
        return element("details", {}, element("summary", {}, lead),
          element("ol", { class: "sites" }, ...s.sites.map((k) => element("li", {},
            counted(k.blocks, "block", "blocks") + ", " + size(k.bytes) + ", " +
            (k.entry >= 0 ? "since entry " + count(k.entry) : hasHistory ? "since before the history" : "allocated"), stackList(stacksOf(layout), k.stack)))),
          s.moreSites ? element("p", { class: "soft" }, "and from " + counted(s.moreSites, "other line", "other lines")) : undefined);
      };
      const row = (s) => [
        [element("code", {}, s.address), element("div", { class: "soft" }, kindOf(s))],
        size(s.size),
        [size(s.allocated) + " (" + percent(of(s.allocated, s.size)) + ")", meter([of(s.allocated, s.size), "var(--allocated)"], [of(s.pendingFree, s.size), "var(--pending)"])],
        size(s.size - active(s)), size(s.largestFreeBlock), sites(s)];
      const show = () => {
        const weight = orders[order];
        const list = layout.segments.filter((s) => weight(s) > 0).sort((a, b) => weight(b) - weight(a)).slice(0, maxRows);
        byId("segments").replaceChildren(table("Segments",
          [["Segment"], ["Size", "number"], ["Allocated", "word"], ["Inactive", "number"], ["Largest free block", "number"], ["Active blocks"]], list.map(row)));
      };
      layoutListeners.push(show);
      switcher("order", [["inactive", "most inactive memory"], ["largest", "largest"], ["cached", "can be freed"]], order, (o) => { order = o; show(); });
      show();
    };

    // ---- other settings

    const drawWhatIf = () => {
      const w = data.whatif, box = byId("whatif");
      if (!w) { byId("whatif-section").hidden = true; return; }
      if (w.details) box.append(element("p", { class: "advice" }, w.details));
      box.append(element("p", { class: "help" }, "The same requests under each of the settings. " + w.limitNote + " A ~ marks statistics that are not exact: they depend on what the snapshot does not record."
        + (w.predictions.some((r) => r.dependsOn) ? " Where the limit decides, the row has the figures of the limits that are enough." : "")));
      const most = Math.max(...w.predictions.map((r) => r.peakReserved[1]), 1);
      // Some limit that may have been in force is enough.
      const works = (r) => !r.error && (!r.oomRequest || r.dependsOn);
      // Settings break behind a comma.
      const breakable = (text) => text.split(/(?<=,)/).flatMap((part) => [part, element("wbr")]);
      const peak = (r) => {
        const [low, high] = r.peakReserved.map(size);
        return [(r.exact ? "" : "~") + (r.openEnd ? low + " or more" : low === high ? high : low + " to " + high),
          meter([r.peakReserved[0] / most, "var(--reserved)"], [(r.peakReserved[1] - r.peakReserved[0]) / most, "var(--reserved)", "maybe"])];
      };
      const name = (r) => [...breakable(r.settings || "(default)"), r.fraction > 0 && " and a memory fraction that allows " + size(r.fraction),
        r.recorded && element("span", { class: "tag" }, "as recorded"), r.recommended && works(r) && element("span", { class: "tag" }, "best")];
      const about = (r, text) => (r.exact ? "" : "~") + text;
      const important = w.predictions.filter((r) => r.important || r.recorded || r.recommended);
      const rows = [...important, ...w.predictions.filter((r) => !important.includes(r))].map((r) => ({
        options: { class: r.recommended && works(r) ? "best" : undefined },
        cells: r.error ? [name(r), soft("cannot be told: " + r.error), "", "", "", "", ""] : [name(r),
          peak(r), ...[size(r.peakAllocated), percent(r.unallocated), count(r.allocRetries), count(r.deviceCalls)].map((text) => about(r, text)),
          element("span", { class: r.dependsOn ? undefined : r.outOfMemory.endsWith("no") ? "good" : "bad" }, r.outOfMemory)],
      }));
      box.append(longTable("Other settings", [["Settings", "code"], ["Peak reserved", "word"], ["Peak allocated", "number"], ["Unallocated", "number"], ["Alloc retries", "number"], ["Device allocs+frees", "number"], ["Out of memory", "word"]],
        rows, important.length));
    };

    // ---- sizes, requests that failed, memory_summary

    const drawSizes = () => {
      if (!data.sizes.length) { byId("sizes-section").hidden = true; return; }
      const most = (f) => Math.max(...data.sizes.map(f), 1);
      const byCount = most((b) => b.requests), byBytes = most((b) => b.peakRequestedBytes);
      byId("sizes").append(table("Sizes of requests", [["Size"], ["Requests"], ["Allocated at the peak"]], data.sizes.map((b) => [
        powers(b.from),
        [count(b.requests) + ", " + size(b.requestedBytes), meter([b.requests / byCount, "var(--reserved)"])],
        [count(b.peakCount) + ", " + size(b.peakRequestedBytes), meter([b.peakRequestedBytes / byBytes, "var(--allocated)"])]])));
    };

    const drawOOMs = () => {
      if (!data.ooms.length) { byId("ooms-section").hidden = true; return; }
      byId("ooms").append(longTable("Requests that failed", [["Entry", "number"], ["Time", "number"], ["Requested", "number"], ["Where"]], data.ooms.map((f) => [
        count(f.entry), summary.durationUS ? time(f.timeUS) : "", size(f.requested),
        f.stack < 0 ? soft("No call stack was recorded.") : element("details", {}, element("summary", {}, ownFrame(stacks, f.stack)), stackList(stacks, f.stack))]), 10));
      if (summary.ooms > data.ooms.length) byId("ooms").append(element("p", { class: "help" }, "and " + count(summary.ooms - data.ooms.length) + " more"));
    };

    const drawSummary = () => {
      if (!hasHistory) { byId("summary-section").hidden = true; return; }
      const show = (s, value) => (s.bytes ? size(value) : count(value));
      byId("memory-summary").append(table("Statistics", [["Statistic"], ["At the end", "number"], ["Peak", "number"], ["Total allocated", "number"], ["Total freed", "number"]],
        data.statistics.map((s) => [s.name, show(s, s.current), show(s, s.peak), show(s, s.allocated), show(s, s.freed)])),
        element("p", { class: "help" }, "Totals are those of the history" + (summary.complete ? "." : ", whose beginning is missing.")));
    };

    // ---- files

    // A cell that begins as a formula does is no formula for a program of tables.
    const cell = (value) => {
      const text = String(value), plain = /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
      return /[",\n]/.test(plain) ? '"' + plain.replace(/"/g, '""') + '"' : plain;
    };
    const csv = () => [["call site", "category", "allocations", "peak bytes", "peak blocks", "out of memory bytes", "end bytes", "end blocks", "most bytes"],
      ...data.sites.map((s) => [siteName(stacks, s), categories.length ? categories[s.category].name : "", s.allocations, ...s.peak, s.oom[0], ...s.end, s.max])].map((row) => row.map(cell).join(",")).join("\n") + "\n";
    const save = (name, type, text) => {
      const link = element("a", { href: URL.createObjectURL(new Blob([text()], { type })), download: name });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    };
    // The report with the states as gaugeblock report writes them in JSON.
    const withStates = () => {
      if (!columns) return data;
      const { ranges: r, blocks: b, stacks } = columns;
      return { ...data, states: { first: data.states.first, ranges: Array.from(r.begin, (begin, i) => [begin, r.end[i], r.address[i], r.bytes[i], r.kind[i]]),
        blocks: Array.from(b.begin, (begin, i) => [begin, b.end[i], b.address[i], b.bytes[i], b.requested[i], b.stack[i], b.freed[i]]), kinds: data.states.kinds, stacks } };
    };
    const drawSave = () => {
      const name = page.source.replace(/[^\w.-]+/g, "_").slice(0, 80) + (page.reports.length > 1 ? "." + page.reports.indexOf(data) : "");
      const button = (label, action) => element("button", { type: "button", on: { click: action } }, label);
      byId("save").append(button("Save call sites (CSV)", () => save(name + ".csv", "text/csv", csv)), button("Save this report (JSON)", () => save(name + ".json", "application/json", () => JSON.stringify(withStates()))));
    };

    colorListeners = [];
    drawVerdict();
    if (page.reports.length > 1 && !page.compared && !page.ranks) {
      const devices = element("section", {});
      drawDevices(devices);
      byId("verdict-section").after(devices);
    }
    drawTimeline();
    drawPolygons("allocations", data.allocations, { each: "Each allocation", begun: "allocated" });
    drawPolygons("segments-time", data.segmentsOverTime, { each: "Each segment, or part of an expandable one,", begun: "reserved" });
    drawHost();
    drawHolders();
    drawAnnotations();
    drawWhatIf();
    drawMap();
    drawPools();
    drawSegments();
    drawSave();
    drawSizes();
    drawOOMs();
    drawSummary();
  };

  // ---- over several reports

  const acrossColors = []; // what is redrawn above the reports when the colours change
  // A small timeline of a report, to a scale that it shares with others.
  const small = (data, top) => {
    const box = element("div", { class: "canvas", role: "img", "aria-label": "Memory over time of " + data.title + ": at most " + size(data.summary.peakAllocated) + " allocated, " + size(data.summary.peakReserved) + " reserved" }, element("canvas", { "aria-hidden": "true" }));
    const t = data.timeline, n = t.allocatedMax.length;
    const paint = (view) => {
      const g = view.context, right = view.width - 2;
      g.clearRect(0, 0, view.width, view.height);
      const y = (bytes) => view.height - 2 - (bytes / (top * 1.05)) * (view.height - 4);
      for (const [values, fill, stroke] of [[t.reservedMax, "--reserved-area", "--reserved"], [t.allocatedMax, "--allocated-area", "--allocated"]]) {
        g.beginPath();
        g.moveTo(0, y(0));
        values.forEach((v, i) => { g.lineTo((i / n) * right, y(v)); g.lineTo(((i + 1) / n) * right, y(v)); });
        g.lineTo(right, y(0));
        g.fillStyle = view.color(fill); g.fill();
        g.strokeStyle = view.color(stroke); g.lineWidth = 1.2; g.stroke();
      }
      g.fillStyle = view.color("--oom");
      t.ooms.forEach((k, i) => { if (k) g.fillRect((i / n) * right - 1, 0, 2, view.height); });
    };
    const view = canvasOf(box, { height: () => 110, paint });
    acrossColors.push(view.redraw);
    return box;
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => acrossColors.forEach((f) => f()));

  const changeBar = (change, most, judged) => element("span", { class: judged ? "change" : "change neutral", "aria-hidden": "true" },
    element("i", { style: { width: (change < 0 ? 100 * of(-change, most) : 0) + "%" } }), element("i", { style: { width: (change > 0 ? 100 * of(change, most) : 0) + "%" } }));
  const changeCell = (change, before, most, judged = true) =>
    [element("span", { class: !judged ? "soft" : change > 0 ? "bad" : change < 0 ? "good" : "soft" }, signed(change) + (before > 0 && change !== 0 ? " (" + (Math.abs(change) < 0.005 * before ? "" : change > 0 ? "+" : "\u2212") + percent(Math.abs(change) / before) + ")" : "")), most > 0 && changeBar(change, most, judged)];

  // Call sites in two snapshots.
  const comparedTable = (c, a, b, { onlyMore = false, judged = true } = {}) => {
    let when = "peak";
    const box = element("div", {}), buttons = element("div", { class: "switch", role: "group", "aria-label": "When" });
    const show = () => {
      const value = (r, side) => (when === "peak" ? r[side] : side === "a" ? r.endA : r.endB);
      const list = c.rows.filter((r) => value(r, "a")[0] || value(r, "b")[0]).map((r) => ({ r, a: value(r, "a"), b: value(r, "b") })).filter((k) => !onlyMore || k.b[0] > k.a[0]);
      list.sort((x, y) => Math.abs(y.b[0] - y.a[0]) - Math.abs(x.b[0] - x.a[0]));
      const most = Math.max(1, ...list.map((k) => Math.abs(k.b[0] - k.a[0])));
      // At first only changes that can be seen.
      const shown = Math.max(1, Math.min(12, list.filter((k) => Math.abs(k.b[0] - k.a[0]) > most / 100).length));
      const guessed = c.rows.some((r) => r.category !== "not known");
      box.replaceChildren(longTable("Call sites", [["Call site", "code"], ["Change", "word"], [a, "number"], [b, "number"], ["Blocks", "number"], ...(guessed ? [[page.reports[0].ownCategories ? "Category" : "What for (a guess)"]] : [])], list.map(({ r, a, b }) => [
        siteCell(c.stacks, r, undefined, r.lines[0] !== r.lines[1] ? "line " + r.lines[0] + ", then " + r.lines[1] : a[0] === 0 ? "new" : b[0] === 0 ? "gone" : undefined),
        changeCell(b[0] - a[0], a[0], most, judged), size(a[0]), size(b[0]), count(a[1]) + " \u2192 " + count(b[1]), ...(guessed ? [r.category] : [])]), shown));
      buttons.replaceChildren(...[["peak", "at each one's peak"], ["end", "at the end"]].map(([value, label]) =>
        element("button", { type: "button", "aria-pressed": String(when === value), on: { click: () => { when = value; show(); } } }, label)));
    };
    show();
    return [element("div", { class: "bar" }, buttons), box, c.more ? element("p", { class: "help" }, counted(c.more, "more call site is", "more call sites are") + " not shown.") : ""];
  };

  const drawCompared = (box) => {
    const c = page.compared, [a, b] = page.reports;
    const top = Math.max(a.summary.peakReserved, b.summary.peakReserved, 1);
    // Where one of the two ran out of memory that is the main thing, and the other one may have more because it went on.
    const oneFailed = (a.summary.ooms > 0) !== (b.summary.ooms > 0);
    const numbers = [
      ["Peak allocated", (d) => d.summary.peakAllocated, size], ["Peak reserved", (d) => d.summary.peakReserved, size],
      ["Requests", (d) => d.summary.requests, count], ["Out of memory", (d) => d.summary.ooms, count],
      ["Segments freed", (d) => d.summary.reservedFreed, size],
    ];
    box.append(element("h2", {}, "What changed"), ...told(c),
      element("div", { class: "pair" }, ...[["A: " + c.a, a], ["B: " + c.b, b]].flatMap(([name, d]) => [element("h3", {}, name), element("div", { class: "brief" }, ...briefOf(d)), small(d, top)])),
      table("Statistics", [["Statistic"], ["A", "number"], ["B", "number"], ["Change", "word"]], numbers.map(([name, f, show]) => [
        name, show(f(a)), show(f(b)), show === size ? changeCell(f(b) - f(a), f(a), 0, !oneFailed) : element("span", { class: name !== "Out of memory" || f(a) === f(b) ? "soft" : f(b) < f(a) ? "good" : "bad" }, (f(b) > f(a) ? "+" : f(b) < f(a) ? "\u2212" : "") + count(Math.abs(f(b) - f(a))))])),
      element("h3", {}, "By call site"), ...comparedTable(c, "A", "B", { judged: !oneFailed }));
  };

  const drawRanks = (box) => {
    const r = page.ranks, most = Math.max(1, ...r.list.map((k) => k.summary.peakReserved));
    const name = (k) => (k.number >= 0 ? "rank " + k.number : k.name);
    const failed = r.list.some((k) => k.summary.ooms > 0), numbered = r.list.some((k) => k.number >= 0), set = r.list.some((k) => k.summary.settings);
    const open = (k) => element("button", { type: "button", on: { click: () => { showReport(page.reports[k.report]); byId("report").scrollIntoView(); } } }, "Open");
    box.append(element("h2", {}, page.iterations ? "The ranks at " + page.iterations.list[page.iterations.shown].name : "The ranks"), ...told(r),
      longTable("Ranks", [["Rank"], ["Peak allocated", "word"], ["Peak reserved", "word"], ["Allocated at the end", "number"], ["Requests", "number"], ["Segments at the end", "number"], ...(failed ? [["Out of memory", "number"]] : []), ...(set ? [["Settings", "code"]] : []), ...(numbered ? [["File", "code"]] : [])],
        r.list.map((k, i) => ({ options: { class: i === r.worst ? "worst" : undefined }, cells: [
          [element("b", {}, name(k)), " ", k.page && element("a", { href: k.page }, "Page"), " ", k.report >= 0 && page.reports.length > 1 && open(k), i === r.worst && element("span", { class: "tag" }, "worst"), i === r.middle && i !== r.worst && element("span", { class: "tag" }, "in the middle")],
          [size(k.summary.peakAllocated), meter([k.summary.peakAllocated / most, "var(--allocated)"])],
          [size(k.summary.peakReserved), meter([k.summary.peakReserved / most, "var(--reserved)"])],
          size(k.atEnd), count(k.summary.requests), count(k.segments),
          ...(failed ? [k.summary.ooms ? element("span", { class: "bad" }, count(k.summary.ooms)) : "no"] : []), ...(set ? [k.summary.settings || soft("default")] : []), ...(numbered ? [soft(k.name)] : [])] })), 64));
    if (r.more) box.append(element("p", { class: "help" }, counted(r.more, "more rank is", "more ranks are") + " not listed."));
    if (r.list.some((k) => k.report < 0 && !k.page)) box.append(element("p", { class: "help" }, "Not all of them can be opened here: with a folder behind -o, gaugeblock report makes a page of each."));
    if (r.against) {
      box.append(element("h3", {}, "What the worst rank has more than the one in the middle"),
        ...comparedTable(r.against, r.against.a, r.against.b, { onlyMore: true }));
    }
  };

  const drawIterations = (box) => {
    const t = page.iterations, most = Math.max(1, ...t.list.map((k) => k.summary.peakReserved));
    box.append(element("h2", {}, "Over time"), ...told(t),
      longTable("Iterations", [["Iteration"], ["Peak allocated", "word"], ["Peak reserved", "word"], ["Allocated at the end", "number"], ["Out of memory", "number"], ["Ranks read", "number"], ["Worst rank"]],
        t.list.map((k, i) => [[k.name, i === t.shown && element("span", { class: "tag" }, "shown below")],
          [size(k.summary.peakAllocated), meter([k.summary.peakAllocated / most, "var(--allocated)"])], [size(k.summary.peakReserved), meter([k.summary.peakReserved / most, "var(--reserved)"])],
          size(k.atEnd), k.summary.ooms ? element("span", { class: "bad" }, count(k.summary.ooms)) : "no", count(k.ranks), k.worst]), 40));
    if (t.list.some((k) => k.ranks > 1)) box.append(element("p", { class: "help" }, "Sizes are those of the worst rank of each: of one that ran out of memory, if there is one. Another may have reserved more."));
    if (!t.growth.length) return;
    box.append(element("h3", {}, "What grows: allocated at the end of each iteration, " + t.rank),
      longTable("Growth", [["Call site", "code"], ["Growth per iteration", "number"], ["At the first", "number"], ["At the last", "number"], ["Grows"]],
        t.growth.map((g) => [siteCell(t.stacks, g), signed(Math.round(g.slope)), size(g.atEnd[0]), size(g.atEnd[g.atEnd.length - 1]),
          g.steady ? element("span", { class: "bad" }, "from each to the next") : soft("not from each to the next, or there are only two")]), 10));
  };

  const drawDevices = (box) => {
    const most = Math.max(1, ...page.reports.map((d) => d.summary.peakReserved));
    box.append(element("h2", {}, "Devices"), table("Devices", [["Device"], ["Peak allocated", "word"], ["Peak reserved", "word"], ["Requests", "number"], ["Out of memory", "number"]],
      page.reports.map((d) => [d.title, [size(d.summary.peakAllocated), meter([d.summary.peakAllocated / most, "var(--allocated)"])], [size(d.summary.peakReserved), meter([d.summary.peakReserved / most, "var(--reserved)"])],
        count(d.summary.requests), d.summary.ooms ? element("span", { class: "bad" }, count(d.summary.ooms)) : "no"])));
  };

  // ---- the page

  byId("source").textContent = page.source;
  document.title = page.source + ": GPU memory report";
  byId("page-notes").append(...(page.notes || []).map((note) => element("li", {}, note)));
  const reports = byId("reports");
  const above = (draw) => { const box = element("section", {}); reports.before(box); draw(box); };
  if (page.iterations) above(drawIterations);
  if (page.compared) above(drawCompared);
  else if (page.ranks && page.ranks.list.length > 1) above(drawRanks);
  let showReport = render;
  if (page.reports.length > 1) showReport = switcher("reports", page.reports.map((d) => [d, d.title + (d.summary.ooms ? ", out of memory" : "")]), page.reports[page.shown], render);
  render(page.reports[page.shown]);
  // page.html#allocations-section begins there, #entry=123 with the state after that entry.
  const linked = location.hash.length > 1 && byId(location.hash.slice(1));
  if (linked) setTimeout(() => linked.scrollIntoView()); // when the canvases have their heights
})();
