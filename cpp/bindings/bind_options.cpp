// Option scopes: `_core.OptionScope`, the values of the process under global.*, and the schema as Python sees it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind_errors.h"
#include "bindings.h"
#include "pypto/options/defaults.h"
#include "pypto/options/schema.h"
#include "pypto/options/scope.h"

namespace nb = nanobind;

namespace pypto::bindings {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;
using options::RawValue;

// A node of the scope stack. Immutable; any thread.
struct OptionScope {
  options::ScopeRef node;
};

std::string Repr(nb::handle object) { return nb::cast<std::string>(nb::repr(object)); }

// Whole numbers that are no int of Python, such as numpy's; numpy.bool_ is none.
bool IsIntegral(nb::handle object) {
  if (PyLong_Check(object.ptr())) return true;
  if (!PyIndex_Check(object.ptr())) return false;
  return nb::isinstance(object, nb::module_::import_("numbers").attr("Integral"));
}

Result<RawValue> ToRawValue(nb::handle object);

Result<RawValue> IntFromPython(nb::handle object) {
  const nb::object number = nb::steal(PyNumber_Index(object.ptr()));
  if (!number.is_valid()) throw nb::python_error();
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0) {
    return Status(StatusCode::kInvalidArgument,
                  "value " + Repr(number) + " doesn't within the value range of a 64-bit integer.");
  }
  return RawValue(static_cast<int64_t>(value));
}

Result<RawValue> ListFromPython(nb::handle object) {
  RawValue::List list;
  for (nb::handle element : nb::borrow<nb::sequence>(object)) {
    PYPTO_ASSIGN_OR_RETURN(RawValue raw, ToRawValue(element));
    list.push_back(std::move(raw));
  }
  return RawValue(std::move(list));
}

Result<RawValue> DictFromPython(nb::handle object) {
  RawValue::Pairs pairs;
  for (const auto& [key, value] : nb::borrow<nb::dict>(object)) {
    PYPTO_ASSIGN_OR_RETURN(RawValue raw_key, ToRawValue(key));
    PYPTO_ASSIGN_OR_RETURN(RawValue raw_value, ToRawValue(value));
    pairs.emplace_back(std::move(raw_key), std::move(raw_value));
  }
  return RawValue(std::move(pairs));
}

// kTypeMismatch holds the name of the type that no option takes.
Result<RawValue> ToRawValue(nb::handle object) {
  if (object.is_none()) return RawValue();
  if (PyBool_Check(object.ptr())) return RawValue(object.ptr() == Py_True);
  if (PyUnicode_Check(object.ptr())) return RawValue(nb::cast<std::string>(object));
  if (PyFloat_Check(object.ptr())) return RawValue(PyFloat_AS_DOUBLE(object.ptr()));
  if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) return ListFromPython(object);
  if (PyDict_Check(object.ptr())) return DictFromPython(object);
  if (IsIntegral(object)) return IntFromPython(object);
  return Status(StatusCode::kTypeMismatch, std::string(Py_TYPE(object.ptr())->tp_name));
}

// The raw value of a key; objects of other types are refused in the words of the key's own check.
RawValue RawOfKey(const std::string& name, nb::handle object) {
  Result<RawValue> raw = ToRawValue(object);
  if (raw.ok()) return std::move(raw).value();
  const options::KeySpec* spec = options::FindKey(name);
  if (spec == nullptr) RaiseStatus(options::UnknownKey(name));
  if (spec->type == options::ValueType::kPoolDepths) return RawValue(Repr(object));
  const std::string found(raw.status().message());
  const std::string option = "Option '" + name + "'";
  if (raw.status().code() != StatusCode::kTypeMismatch) RaiseStatus({raw.status().code(), option + ": " + found});
  RaiseStatus({StatusCode::kTypeMismatch, option + " has invalid type. Expected " +
                                              std::string(options::ValueTypeText(spec->type)) + ", but got " + found +
                                              "."});
}

nb::object FromRawValue(const RawValue& raw);

// A list; a tuple where it is the value of a dict entry: {3: (4, "left")}.
nb::object FromDictEntry(const RawValue& raw) {
  nb::object value = FromRawValue(raw);
  return nb::isinstance<nb::list>(value) ? nb::object(nb::tuple(value)) : value;
}

struct ToPython {
  nb::object operator()(std::monostate) const { return nb::none(); }
  nb::object operator()(const RawValue::List& elements) const {
    nb::list list;
    for (const RawValue& element : elements) list.append(FromRawValue(element));
    return list;
  }
  nb::object operator()(const RawValue::Pairs& pairs) const {
    nb::dict dict;
    for (const auto& [key, value] : pairs) dict[FromRawValue(key)] = FromDictEntry(value);
    return dict;
  }
  template <typename T>
  nb::object operator()(const T& scalar) const {
    return nb::cast(scalar);
  }
};

nb::object FromRawValue(const RawValue& raw) { return std::visit(ToPython(), raw.data); }

nb::object FromValue(const options::Value& value) { return FromRawValue(options::ToRaw(value)); }

nb::dict FromNamed(const std::vector<options::NamedValue>& values) {
  nb::dict dict;
  for (const auto& [name, value] : values) dict[nb::str(name.c_str(), name.size())] = FromValue(value);
  return dict;
}

options::Group GroupOf(const std::string& name) {
  for (const options::KeySpec& spec : options::Schema()) {
    if (spec.group != options::Group::kTile && options::GroupName(spec.group) == name) return spec.group;
  }
  RaiseStatus({StatusCode::kNotFound, "Option not found: " + name});
}

OptionScope WithValues(const OptionScope& self, const nb::dict& values, bool of_jit) {
  std::vector<options::Update> updates;
  for (const auto& [key, value] : values) {
    auto name = nb::cast<std::string>(key);
    RawValue raw = RawOfKey(name, value);
    updates.emplace_back(std::move(name), std::move(raw));
  }
  return {Unwrap(self.node->With(updates, of_jit ? options::Origin::kJit : options::Origin::kScope))};
}

// Keys of the group without their prefix.
nb::dict GroupValues(const OptionScope& self, const std::string& group) {
  std::vector<options::NamedValue> values = self.node->GetGroup(GroupOf(group));
  for (auto& [name, value] : values) name.erase(0, group.size() + 1);
  return FromNamed(values);
}

nb::list SchemaRows() {
  nb::list rows;
  for (const options::KeySpec& spec : options::Schema()) {
    nb::dict row;
    row["name"] = std::string(spec.name);
    row["group"] = std::string(options::GroupName(spec.group));
    row["type"] = std::string(options::ValueTypeText(spec.type));
    row["default"] = FromValue(spec.default_value);
    row["has_effect"] = spec.has_effect;
    row["internal"] = spec.internal;
    rows.append(row);
  }
  return rows;
}

void SetGlobalValue(const std::string& name, nb::handle object) {
  Result<RawValue> raw = ToRawValue(object);
  if (!raw.ok() && raw.status().code() == StatusCode::kTypeMismatch) {
    RaiseStatus({StatusCode::kTypeMismatch, "Option 'global." + name + "' cannot hold a value of type " +
                                                std::string(raw.status().message()) + "."});
  }
  options::SetGlobal(name, Unwrap(std::move(raw)));
}

}  // namespace

void bind_options(nb::module_& module) {
  nb::class_<OptionScope>(module, "OptionScope", "A node of the option scopes. Immutable; any thread.")
      .def_prop_ro("name", [](const OptionScope& self) { return self.node->name(); })
      .def_prop_ro("depth", [](const OptionScope& self) { return self.node->depth(); })
      .def_prop_ro("parent",
                   [](const OptionScope& self) -> std::optional<OptionScope> {
                     if (self.node->parent() == nullptr) return std::nullopt;
                     return OptionScope{self.node->parent()};
                   })
      .def(
          "child", [](const OptionScope& self, const std::string& name) { return OptionScope{self.node->Child(name)}; },
          nb::arg("name"))
      .def("with_values", &WithValues, nb::arg("values"), nb::arg("of_jit") = false,
           "The node with these full keys changed; everything is checked before anything is changed.")
      .def("reset", [](const OptionScope& self) { return OptionScope{self.node->Reset()}; })
      .def(
          "get", [](const OptionScope& self, const std::string& key) { return FromValue(Unwrap(self.node->Get(key))); },
          nb::arg("key"), "The value of a full key; KeyError when there is none.")
      .def(
          "has", [](const OptionScope& self, const std::string& key) { return self.node->Has(key); }, nb::arg("key"))
      .def(
          "is_given", [](const OptionScope& self, const std::string& key) { return self.node->IsGiven(key); },
          nb::arg("key"), "Whether a scope or a jit decorator gave the value.")
      .def(
          "origin",
          [](const OptionScope& self, const std::string& key) {
            return std::string(options::OriginName(Unwrap(self.node->GetOrigin(key))));
          },
          nb::arg("key"))
      .def("get_group", &GroupValues, nb::arg("group"), "Values of a group, by key without its prefix.")
      .def("get_all", [](const OptionScope& self) { return FromNamed(self.node->GetAll()); })
      .def("describe", [](const OptionScope& self) { return self.node->Describe(); })
      .def("tree_text", [](const OptionScope& self) { return self.node->TreeText(); })
      .def("effective_text", [](const OptionScope& self) { return self.node->EffectiveText(); });

  module.def(
      "load_option_root", [](const std::string& packaged) { return OptionScope{Unwrap(options::LoadRoot(packaged))}; },
      nb::arg("packaged"), "The scope of the defaults; TILEFWK_CONFIG_PATH names another file than the packaged one.");
  module.def("option_schema", &SchemaRows, "One dict per key.");
  module.def(
      "check_option_in_kernel", [](const std::string& key) { ThrowIfError(options::CheckSettableInKernel(key)); },
      nb::arg("key"), "RuntimeError for a key that cannot be set while a kernel is traced.");
  module.def("set_global_option", &SetGlobalValue, nb::arg("name"), nb::arg("value").none());
  module.def(
      "get_global_option", [](const std::string& name) { return FromRawValue(Unwrap(options::GetGlobal(name))); },
      nb::arg("name"));
}

}  // namespace pypto::bindings
