# Holds that every public call that makes nodes tells the line that it is in (graph.h, "places"): its macro begins with
# hr_place_begin. Run it with -DCC=the compiler, -DINCLUDE=the folder of headrace/, -DWORK=a folder.
cmake_minimum_required(VERSION 3.25)
# They make no node, or are called by ops, passes and optimizers alone, whose nodes are made where those are called for.
set(others hr_graph_node hr_average_of hr_average_of_with hr_node_input hr_node_control hr_node_output hr_place_end hr_place_end_array hr_place_end_table
    hr_function_input_at hr_function_output_at hr_tensor_array_of hr_feature_values hr_feature_row_splits
    hr_feature_step_splits hr_label hr_spec_predicted hr_node_fail hr_failed_node hr_const_ints hr_const_number hr_gradient_zeros
    hr_gradient_unbroadcast hr_target hr_node_copy hr_unary_node hr_binary_node hr_ternary_node hr_node_of_lists hr_node_value hr_list_reserved_like hr_activation_fn hr_rnn_fn
    hr_layer_shape hr_layer_inner hr_layer_inner_with hr_layer_weight hr_layer_weight_with hr_layer_state hr_layer_fail hr_model_input_node hr_model_output_node
    hr_schedule_fn hr_loss_fn hr_lambda_fn)
set(kits "^hr_(backward|rewrite|minimizer|optimizer)_")

file(MAKE_DIRECTORY ${WORK})
set(all "#include <headrace/train.h>\n")
function(preprocess text out)
    file(WRITE ${WORK}/places.c "${text}")
    execute_process(COMMAND ${CC} -std=c11 -E -P -I ${INCLUDE} ${WORK}/places.c RESULT_VARIABLE result OUTPUT_VARIABLE lines
                    ERROR_VARIABLE error)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "${error}")
    endif()
    set(${out} "${lines}" PARENT_SCOPE)
endfunction()

# What gives nodes, as its result or in a parameter.
preprocess("${all}" text)
string(REGEX MATCHALL "[\n ](hr_node|hr_tensor_array|hr_table) hr_[a-z0-9_]+ *\\(" made "${text}")
string(REGEX MATCHALL "void hr_[a-z0-9_]+ *\\([^)]*hr_(node|gradient) \\*out[,)]" given "${text}")
set(names "")
foreach(declaration IN LISTS made given)
    string(REGEX MATCH "(hr_[a-z0-9_]+) *\\(" name "${declaration}")
    list(APPEND names ${CMAKE_MATCH_1})
endforeach()
list(REMOVE_DUPLICATES names)
list(REMOVE_ITEM names ${others})
list(FILTER names EXCLUDE REGEX "${kits}")
list(LENGTH names count)
if(count LESS 100)
    message(FATAL_ERROR "expected at least 100 calls that make nodes, found ${count}")
endif()

set(calls "${all}")
foreach(name IN LISTS names)
    string(REGEX REPLACE "_with$" "" called ${name})
    string(APPEND calls "call ${called}: ${called}(a, b, c, d, e, f, g, h, i)\n")
endforeach()
preprocess("${calls}" text)
string(REGEX MATCHALL "\ncall [^\n]*" lines "${text}")
foreach(line IN LISTS lines)
    if(NOT line MATCHES "hr_place_begin")
        message(SEND_ERROR "no macro tells where it is called:${line}")
    endif()
endforeach()
message(STATUS "${count} calls tell where they are")
