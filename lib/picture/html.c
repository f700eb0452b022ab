/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures as one HTML file: the SVG, and a script that says what is under the pointer. Nothing is fetched. */
#include "picture.h"

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n<title>";
static const char style[] =
    "</title>\n<style>\n"
    "body{margin:16px;font:15px/1.4 system-ui,sans-serif}\n"
    "svg{display:block;max-width:none}\n"
    "svg g[data-k]{cursor:pointer}\n"
    "svg g.hit>rect:first-child{stroke-width:4}\n"
    "svg g.off>*{opacity:.15}\n"
    "#box{position:fixed;display:none;pointer-events:none;white-space:pre;padding:6px 10px;border-radius:4px;\n"
    "background:#202020;color:#ffffff;font:14px/1.4 monospace}\n"
    "</style>\n</head>\n<body>\n";
static const char script[] =
    "<p>Point at a cell: the same element is framed in every panel.<span id=\"how\" hidden> Click a cell to keep its thread\n"
    "alone, and again for all.</span></p>\n<div id=\"box\" role=\"status\"></div>\n<script>\n"
    "'use strict';\n"
    "const cells = [...document.querySelectorAll('g[data-k]')], box = document.getElementById('box');\n"
    "const same = new Map();\n"
    "for (const c of cells) {\n"
    "  const k = c.dataset.k;\n"
    "  if (!same.has(k)) same.set(k, []);\n"
    "  same.get(k).push(c);\n"
    "}\n"
    "let lit = [], only = null;\n"
    "const cellOf = e => e.target.closest ? e.target.closest('g[data-k]') : null;\n"
    "function light(cell) {\n"
    "  for (const c of lit) c.classList.remove('hit');\n"
    "  lit = cell ? same.get(cell.dataset.k) : [];\n"
    "  for (const c of lit) c.classList.add('hit');\n"
    "  box.style.display = cell ? 'block' : 'none';\n"
    "  if (cell) box.textContent = cell.dataset.i;\n"
    "}\n"
    "document.addEventListener('mousemove', e => {\n"
    "  light(cellOf(e));\n"
    "  const x = Math.min(e.clientX + 16, innerWidth - box.offsetWidth - 4);\n"
    "  const y = Math.min(e.clientY + 16, innerHeight - box.offsetHeight - 4);\n"
    "  box.style.left = x + 'px';\n"
    "  box.style.top = y + 'px';\n"
    "});\n"
    "document.addEventListener('click', e => {\n"
    "  const cell = cellOf(e), t = cell ? cell.dataset.t : undefined;\n"
    "  if (cell && t === undefined) return;\n"
    "  only = cell && t !== only ? t : null;\n"
    "  for (const c of cells) c.classList.toggle('off', only !== null && c.dataset.t !== only);\n"
    "});\n"
    "document.getElementById('how').hidden = !cells.some(c => 't' in c.dataset);\n"
    "</script>\n</body>\n</html>\n";

static void put_picture(sett__sink *s, const sett__ctx *c, const sett__picture *p)
{
    sett__put(s, head);
    sett__put_xml(s, p->panel[p->n - 1].text);
    sett__put(s, style);
    sett__put_svg(s, c, p, true);
    sett__put(s, script);
}

const char *sett_layout_html_at(sett_site site, const sett_picture_args *a)
{
    return sett__picture_written(site, "sett_layout_html", a, put_picture);
}
